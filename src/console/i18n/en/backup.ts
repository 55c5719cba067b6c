import type { Message } from "../en.ts";

/** English texts of the page Backup. */
export const backupTexts = {
  "backup.passphrase": "Passphrase",

  "export.about": "All settings as one JSON file, which Mooring reads on any machine.",
  "export.clear": "In the clear.",
  "export.clearHint": "The file contains the secrets unencrypted.",
  "export.clearWarning": "The file will contain unencrypted passwords, tokens and keys.",
  "export.download": "Download",
  "export.omit": "Left out.",
  "export.omitHint": "They have to be typed again after an import.",
  "export.seal": "Sealed with a passphrase.",
  "export.sealHint": "They cannot be read without the passphrase.",
  "export.secrets": "Passwords, tokens and keys",
  "export.short": "The passphrase needs at least {count} characters.",
  "export.title": "Export",

  "import.about":
    "A backup of Mooring, or one that the web page of an AList or OpenList site has made. What would change is shown first.",
  "import.commit": { one: "Import 1 change", other: "Import {count} changes" },
  "import.done": "The backup is imported:",
  "import.drop": "Drop a JSON file here, or choose one",
  "import.noDocument": "This is no backup: a backup is a JSON object.",
  "import.passphraseHint": "if the backup was made with one",
  "import.skipInvalid": "Leave out settings whose value is refused, and import the others",
  "import.title": "Import",

  "outcome.added": "New",
  "outcome.changed": "Changed",
  "outcome.label": "What becomes of it",
  "outcome.skipped": "Left out",
  "outcome.unchanged": "The same",
  "outcome.why": "Why",
} as const satisfies Readonly<Record<string, Message>>;
