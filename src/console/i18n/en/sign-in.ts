import type { Message } from "../en.ts";

/** English texts of the sign-in. */
export const signInTexts = {
  "login.code": "One-time code",
  "login.codeHelp": "The server also requires the code of the authenticator app.",
  "login.empty": "Type a user name and a password.",
  "login.help": "Your user name and password of the upstream server. You must be an admin there.",
  "login.instead": "Sign in with user name and password",
  "login.locked":
    "Too many failed logins from this address. The server refuses further ones for some minutes.",
  "login.name": "User name",
  "login.noAdmin": "You are not an admin of the server, so you were signed out.",
  "login.password": "Password",
  "login.refused": "The server refuses the login: {words}",
  "login.silent": "The upstream server does not answer.",
  "login.tokenInstead": "Sign in with a token",
  "login.wrong": "User name or password is wrong.",
  "login.wrongCode": "The one-time code is wrong.",
  "signIn.empty": "Type or paste a token.",
  "signIn.enter": "Sign in",
  "signIn.help":
    "The first start of Mooring shows the admin token; “mooring token show --database FILE” on its machine shows it again.",
  "signIn.inOtherTab": "You signed out in another tab.",
  "signIn.keep": "Stay signed in after a reload and in new tabs",
  "signIn.noToken": "A token has only letters, digits and symbols, without spaces.",
  "signIn.title": "Sign in",
  "signIn.token": "Token",
  "signIn.tokenEnded": "Your token is no longer valid, so you were signed out.",
} as const satisfies Readonly<Record<string, Message>>;
