import type { Message } from "../en.ts";

/** English texts of the page Backup. */
export const backupTexts = {
  "backup.part": "Part",
  "backup.part.mounts": "Mounts",
  "backup.part.principals": "Principals and tokens",
  "backup.part.rules": "Folder rules",
  "backup.part.servers": "Users and other contents of servers",
  "backup.part.settings": "Settings",
  "backup.part.sites": "Sites",
  "backup.part.webhooks": "Webhooks",
  "backup.parts": "Parts",
  "backup.passphrase": "Passphrase",

  "export.about":
    "Settings, mounts, folder rules, sites, webhooks, principals and tokens in one JSON file, for any Mooring.",
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
  "import.includeServerOwn":
    "Also import what belongs to one server: its token, version and index progress",
  "import.noDocument": "This is not a backup: a backup is a JSON object or a list.",
  "import.passphraseHint": "if the backup has one",
  "import.passwords":
    "New passwords of users of servers. They are shown only once, and Mooring does not store them:",
  "import.replaceSecrets":
    "Replace secrets that are stored here, with the addresses they belong to",
  "import.replaced": "replaces the secret {names}",
  "import.kept": "stays as it is here: {names}",
  "import.newer": "newer here",
  "import.pauseSites": "Create sites paused, so that nothing is written to their servers",
  "import.sites": "Sites",
  "import.sitesHint":
    "Names, all or none: the sites of mounts that name no site. OLD=NEW: another name for a site of the backup. Separated by commas.",
  "import.skipInvalid": "Skip settings with invalid values, and import the others",
  "import.title": "Import",

  "outcome.changed": "Changed",
  "outcome.created": "New",
  "outcome.label": "Result",
  "outcome.missing": "without a value: {names}",
  "outcome.name": "Name",
  "outcome.skipped": "Skipped",
  "outcome.unchanged": "Unchanged",

  "stored.about":
    "A backup has everything of this Mooring and its servers, sealed with a passphrase. A restore shows its changes first.",
  "stored.check": "Check",
  "stored.create": "Back up now",
  "stored.created": "The backup is made: {name}",
  "stored.download": "Download a backup",
  "stored.good": "{name} can be restored (Mooring {version}).",
  "stored.keep": "Kept",
  "stored.losses": "Not as before after a restore into an empty Mooring:",
  "stored.next": "Next backup",
  "stored.noSchedule": "none",
  "stored.noTarget":
    "This Mooring keeps no backups itself: MOORING_BACKUP_DIR is not set. A backup can be downloaded.",
  "stored.none": "There are no backups yet.",
  "stored.nothingOld": "No backup is older than those that are kept.",
  "stored.omissions": "Not in the backup:",
  "stored.other": "of another database",
  "stored.others": {
    one: "1 backup of another database is left alone.",
    other: "{count} backups of another database are left alone.",
  },
  "stored.passphraseHint": "empty: that of the service",
  "stored.passphraseNeeded": "at least 8 characters; the service has none of its own",
  "stored.prune": "Remove old backups",
  "stored.pruneNow": { one: "Remove 1 backup", other: "Remove {count} backups" },
  "stored.removed": "Removed, because newer ones are kept:",
  "stored.removes": "These backups are removed:",
  "stored.restore": "Restore",
  "stored.schedule": "Schedule",
  "stored.target": "Place",
  "stored.title": "Backups",
} as const satisfies Readonly<Record<string, Message>>;
