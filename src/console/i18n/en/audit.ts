import type { Message } from "../en.ts";

/** English texts of the page Audit. */
export const auditTexts = {
  "audit.anyOutcome": "Any outcome",
  "audit.before": "Hash of the previous row",
  "audit.checkpoint": "Checkpoint",
  "audit.checkpointAbout":
    "Store this text elsewhere. Later, this page or “mooring audit verify --checkpoint” uses it to detect changed and missing rows.",
  "audit.cut": "The file has the newest {count} rows; use narrower filters for others.",
  "audit.download": "Download",
  "audit.foreign": "This checkpoint belongs to another database.",
  "audit.hash": "Hash of this row",
  "audit.insecure":
    "Browsers can verify only over HTTPS or on this machine. This command works everywhere: mooring audit verify",
  "audit.kept": "Stored checkpoint",
  "audit.keptHint":
    "Paste it to compare the rows up to it. Empty: verifies only the chain of rows.",
  "audit.method": "Action",
  "audit.unauthenticated": "by an unauthenticated client",
  "audit.none": "No row matches.",
  "audit.oldest": "Rows before {sequence} are no longer kept.",
  "audit.outcome": "Outcome",
  "audit.several": "several calls",
  "audit.row.changed": "Row {sequence} was changed after it was written: its hash does not match.",
  "audit.row.cutOff":
    "The checkpoint belongs to row {sequence}, and the audit ends before it: its last rows are missing.",
  "audit.row.forgotten":
    "The checkpoint belongs to row {sequence}, which is no longer kept. Use a newer one.",
  "audit.row.takenAway":
    "Row {sequence} was removed from the beginning: no row records its deletion.",
  "audit.row.missing": "Row {sequence} is missing.",
  "audit.row.rewritten":
    "Row {sequence} differs from the checkpoint: rows up to it were rewritten.",
  "audit.row.unchained":
    "Row {sequence} does not follow the previous row: one of them was rewritten.",
  "audit.subject": "Subject",
  "audit.token": "Token",
  "audit.unkept":
    "This is not a checkpoint: a checkpoint has four lines (id of the database, number, hash and time).",
  "audit.verified": "Intact: rows {first} to {last} form a chain.",
  "audit.verifiedKept": "Intact: rows {first} to {last} form a chain and match the checkpoint.",
  "audit.verify": "Verify",
  "audit.verifying": "Rows up to {sequence} are intact so far.",
} as const satisfies Readonly<Record<string, Message>>;
