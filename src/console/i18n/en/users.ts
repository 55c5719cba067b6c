import type { Message } from "../en.ts";

/** English texts of the page Users. */
export const usersTexts = {
  "user.builtIn": "of the server",
  "user.chosen": "Copy {name}",
  "user.disabled": "disabled",
  "user.folder": "Folder",
  "user.ldap": "LDAP logins",
  "user.no": "no",
  "user.none": "none",
  "user.permissions": "Permissions",
  "user.replace": "Replace {name}",
  "user.roles": "Roles",
  "user.sso": "Single sign-on",
  "user.state": "State",
  "user.yes": "yes",

  "users.about":
    "Users belong to their server. Mooring does not store them, and copies them only at your request.",
  "users.compareWith": "Compare with",
  "users.copied": "Result on {site}",
  "users.copy": { one: "Copy 1 user to {site}…", other: "Copy {count} users to {site}…" },
  "users.copyNow": "Copy now",
  "users.copyTitle": "Copy to {site}",
  "users.differences": "Compared with {site}",
  "users.extra": "only there",
  "users.missing": "missing there",
  "users.noSite": "No site",
  "users.once":
    "These passwords are shown only once, and Mooring does not store them: hand them out now.",
  "users.onePassword": "One password for all new users",
  "users.password": "Password",
  "users.passwordKind": "Password of new users",
  "users.random": "A random password for each, shown once",
  "users.same": "The users of both sites are equal.",
  "users.lost": "Not copied",

  "userResult.created": "created",
  "userResult.failed": "failed",
  "userResult.kept": "exists, unchanged",
  "userResult.refused": "not copied",
  "userResult.same": "equal",
  "userResult.skipped": "of the server",
  "userResult.updated": "replaced",
} as const satisfies Readonly<Record<string, Message>>;
