/** A message; a message with a count has one text per plural form of the language. */
export type Message = string | { readonly one: string; readonly other: string };

/** Texts around the pages and on the first one, in English. `{name}` is a parameter. */
export const en = {
  "action.close": "Close",
  "action.retry": "Try again",

  "connection.live": "Live",
  "connection.lost": "Not connected",
  "connection.lostHint":
    "The console keeps reconnecting. Shown data may be outdated; your edits are kept.",
  "connection.lostTitle": "The connection to Mooring is lost.",
  "connection.refused": "Not allowed",
  "connection.waiting": "Connecting",

  "edits.conflicts": { one: "1 conflict", other: "{count} conflicts" },
  "edits.count": { one: "1 edit", other: "{count} edits" },
  "edits.secretsLost": "Edits of secrets are not kept: {keys}. Enter them again.",

  "filter.custom": "Custom",
  "filter.edited": "Edited",
  "filter.managed": "Managed by a file",
  "filter.public": "Public",
  "filter.secret": "Secret",
  "filter.set": "Not default",

  "group.other": "Group {number}",

  "history.none": "Nothing was changed.",
  "history.pick": "Choose revision {revision} to compare",

  "language.label": "Language",

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

  "menu.more": "More",
  "menu.pages": "Pages",
  "menu.skip": "Skip to content",

  "overview.attention": "Needs attention",
  "overview.deprecated": "has no effect and can be deleted.",
  "overview.fine": "Nothing needs attention.",
  "overview.incidents": { one: "1 open incident", other: "{count} open incidents" },
  "overview.newest": "Recent changes",
  "overview.ownEnds": "The token that you use expires {when}.",
  "overview.ownToken": "Your token",
  "overview.reference": "API reference",
  "overview.revision": "Revision",
  "overview.token": "of {principal} expires {when}",
  "overview.tokens": { one: "1 token expires soon.", other: "{count} tokens expire soon." },
  "overview.waiting": { one: "1 edit is not saved yet", other: "{count} edits are not saved yet" },

  "page.audit": "Audit",
  "page.backup": "Backup",
  "page.drivers": "Drivers",
  "page.history": "History",
  "page.mount": "Mount",
  "page.mounts": "Mounts",
  "page.overview": "Overview",
  "page.review": "Review changes",
  "page.rules": "Folder rules",
  "page.settings": "Settings",
  "page.sites": "Sites",
  "page.tokens": "Tokens",

  "page.users": "Users of a site",
  "page.webhooks": "Webhooks",
  "palette.driver": "driver",
  "palette.goals": "Destinations",
  "palette.label": "Go to a page, a setting or a driver",
  "palette.none": "No match.",
  "palette.open": "Go to …",

  "row.by": "by {actor}",
  "row.revision": "revision {revision}",

  "session.signOut": "Sign out",
  "session.whose": "You are signed in as",

  "signIn.empty": "Type or paste a token.",
  "signIn.enter": "Sign in",
  "signIn.help":
    "The first start of Mooring shows the admin token; “mooring token show --database FILE” on its machine shows it again.",
  "signIn.keep": "Stay signed in after a reload and in new tabs",
  "signIn.noToken": "A token has only letters, digits and symbols, without spaces.",
  "signIn.title": "Sign in",
  "signIn.token": "Token",
  "signIn.tokenEnded": "Your token is no longer valid, so you were signed out.",

  "state.denied": "Your token does not allow this.",
  "state.failed": "The request failed.",
  "state.loading": "Loading",
  "state.needs": "This page needs the scope",
  "state.noPage": "This page does not exist.",
  "state.offline": "Mooring does not answer.",
  "state.or": "or",
  "state.request": "Request",

  "theme.auto": "Theme: system",
  "theme.dark": "Theme: dark",
  "theme.light": "Theme: light",

  "toast.changed": "{actor} has changed {keys}.",
  "toast.more": { one: "1 more", other: "{count} more" },
  "toast.show": "Show",

  "token.ends": "expires {when}",
} as const satisfies Readonly<Record<string, Message>>;
