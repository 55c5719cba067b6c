import type { Message } from "../en.ts";

/** English texts of the history, which the audit shows too. */
export const historyTexts = {
  "history.actor": "Actor",
  "history.anySource": "Any source",
  "history.backTo": "Restore revision {revision}",
  "history.between": "From revision {from} to {to}",
  "history.compare": "Compare two",
  "history.compareNow": "Compare with the current state",
  "history.source": "Source",
  "history.goBack": { one: "Restore 1 change", other: "Restore {count} changes" },
  "history.noneFits": "No changes match.",
  "history.older": "Show older revisions",
  "history.oldest": "Revisions before {revision} are no longer kept.",
  "history.peer": "From",
  "history.revision": "Revision {revision}",
  "history.skipped": {
    one: "1 item cannot be restored, or not as a whole",
    other: "{count} items cannot be restored, or not as a whole",
  },
  "history.swap": "Swap",
  "history.time": "Time",
  "history.undoTo": "Restore revision {revision}",
  "history.wentBack": "Revision {to} was restored as revision {revision}.",
} as const satisfies Readonly<Record<string, Message>>;
