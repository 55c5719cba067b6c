import type { Message } from "../en.ts";

/** English texts of the page Backup. */
export const backupTexts = {
  "backup.part": "Part",
  "backup.part.mounts": "Mounts",
  "backup.part.principals": "Principals and tokens",
  "backup.part.settings": "Settings",
  "backup.part.sites": "Sites",
  "backup.part.webhooks": "Webhooks",
  "backup.parts": "Parts",
  "backup.passphrase": "Passphrase",

  "export.about":
    "Settings, mounts, sites, webhooks, principals and tokens in one JSON file, for any Mooring.",
  "export.clear": "In the clear.",
  "export.clearHint": "The file contains the secrets unencrypted.",
  "export.clearWarning": "The file will contain unencrypted passwords, tokens and keys.",
  "export.download": "Download",
  "export.leftOut": "Not in the file: {names}.",
  "export.omit": "Omitted.",
  "export.omitHint": "They must be set again after an import.",
  "export.seal": "Sealed with a passphrase.",
  "export.sealHint": "They cannot be read without the passphrase.",
  "export.secrets": "Passwords, tokens and keys",
  "export.short": "The passphrase needs at least {count} characters.",
  "export.title": "Export",

  "import.about":
    "An archive of Mooring, a backup of the web page of an AList or OpenList site, or a list of its settings or storages. A preview shows the changes first; what the file lacks is not removed.",
  "import.commit": { one: "Import 1 change", other: "Import {count} changes" },
  "import.done": "The backup is imported:",
  "import.drop": "Drop a JSON file here, or choose one",
  "import.effect.change": "On {site}, {path} is overwritten.",
  "import.effect.disable": "On {site}, {path} is disabled.",
  "import.effect.follow": "{site} follows: Mooring writes to its server.",
  "import.effect.open": "On {site}, {path} opens: more people can read or write it.",
  "import.effect.remount": "On {site}, {path} is mounted again, which interrupts it.",
  "import.effect.remove": "On {site}, {path} is removed.",
  "import.effects": "Effects on running servers",
  "import.includeServerOwn":
    "Also import what belongs to one server: its token, version and index progress",
  "import.noDocument": "This is not a backup: a backup is a JSON object or a list.",
  "import.passphraseHint": "if the backup has one",
  "import.pauseSites": "Create sites paused, so that nothing is written to their servers",
  "import.sites": "Sites",
  "import.sitesHint":
    "OLD=NEW maps the name of a site; names, all or none choose the sites of mounts that name none",
  "import.skipInvalid": "Skip settings with invalid values, and import the others",
  "import.title": "Import",

  "outcome.changed": "Changed",
  "outcome.created": "New",
  "outcome.label": "Result",
  "outcome.missing": "without a value: {names}",
  "outcome.name": "Name",
  "outcome.skipped": "Skipped",
  "outcome.unchanged": "Unchanged",
  "outcome.why": "Reason",
} as const satisfies Readonly<Record<string, Message>>;
