import type { Message } from "../en.ts";

/** English texts of the page Backup. */
export const backupTexts = {
  "backup.passphrase": "Passphrase",

  "export.about": "All settings in one JSON file, for any Mooring.",
  "export.clear": "In the clear.",
  "export.clearHint": "The file contains the secrets unencrypted.",
  "export.clearWarning": "The file will contain unencrypted passwords, tokens and keys.",
  "export.download": "Download",
  "export.omit": "Omitted.",
  "export.omitHint": "They must be set again after an import.",
  "export.seal": "Sealed with a passphrase.",
  "export.sealHint": "They cannot be read without the passphrase.",
  "export.secrets": "Passwords, tokens and keys",
  "export.short": "The passphrase needs at least {count} characters.",
  "export.title": "Export",

  "import.about":
    "A backup of Mooring, or of the web page of an AList or OpenList site. A preview shows the changes first.",
  "import.commit": { one: "Import 1 change", other: "Import {count} changes" },
  "import.done": "The backup is imported:",
  "import.drop": "Drop a JSON file here, or choose one",
  "import.includeServerOwn":
    "Also import what belongs to one server: its token, version and index progress",
  "import.noDocument": "This is not a backup: a backup is a JSON object.",
  "import.passphraseHint": "if the backup has one",
  "import.skipInvalid": "Skip settings with invalid values, and import the others",
  "import.title": "Import",

  "outcome.added": "New",
  "outcome.changed": "Changed",
  "outcome.label": "Result",
  "outcome.skipped": "Skipped",
  "outcome.unchanged": "Unchanged",
  "outcome.why": "Reason",
} as const satisfies Readonly<Record<string, Message>>;
