import type { Message } from "../en.ts";

/** English texts of the page Audit. */
export const auditTexts = {
  "audit.anyOutcome": "Any outcome",
  "audit.before": "Hash of the row before",
  "audit.checkpoint": "Checkpoint",
  "audit.checkpointAbout":
    "Keep this text somewhere else. With it, this page or “mooring audit verify --checkpoint” says later whether any row up to it was changed or is missing.",
  "audit.cut": "The file has the newest {count} rows; narrow the filters for others.",
  "audit.download": "Download",
  "audit.foreign": "This checkpoint is of another database.",
  "audit.hash": "Hash of this row",
  "audit.insecure":
    "Browsers verify only over HTTPS or on this machine; the command does it anywhere: mooring audit verify",
  "audit.kept": "A checkpoint that was kept",
  "audit.keptHint":
    "Paste it to see whether rows up to it are as they were. Empty: only whether rows follow each other.",
  "audit.method": "Action",
  "audit.unauthenticated": "by an unauthenticated client",
  "audit.none": "There is no such row.",
  "audit.oldest": "Rows before {sequence} are not kept any more.",
  "audit.outcome": "Outcome",
  "audit.several": "several calls",
  "audit.row.changed": "Row {sequence} was changed after it was written: its hash does not match.",
  "audit.row.cutOff":
    "The checkpoint is of row {sequence}, and the audit ends before it: rows at its end are missing.",
  "audit.row.forgotten":
    "The checkpoint is of row {sequence}, which is not kept any more. Take a newer one.",
  "audit.row.takenAway":
    "Row {sequence} was removed from the beginning: no row records its deletion.",
  "audit.row.missing": "Row {sequence} is missing.",
  "audit.row.rewritten":
    "Row {sequence} is another one than the checkpoint’s: rows up to it were written anew.",
  "audit.row.unchained":
    "Row {sequence} does not follow the row before it: one of them was written anew.",
  "audit.subject": "Subject",
  "audit.token": "Token",
  "audit.unkept":
    "This is no checkpoint: it has the id of the database, a number, a hash and a time, a line each.",
  "audit.verified": "Whole: rows {first} to {last} follow each other.",
  "audit.verifiedKept": "Whole: rows {first} to {last} follow each other, and fit the checkpoint.",
  "audit.verify": "Verify",
  "audit.verifying": "Rows up to {sequence} fit so far.",
} as const satisfies Readonly<Record<string, Message>>;
