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

  "time.justNow": "just now",

  "toast.changed": "{actor} has changed {keys}.",
  "toast.more": { one: "1 more", other: "{count} more" },
  "toast.show": "Show",

  "token.ends": "expires {when}",
} as const satisfies Readonly<Record<string, Message>>;
