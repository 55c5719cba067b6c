import type { Message } from "../en.ts";

/** English texts of the history, which the audit shows too. */
export const historyTexts = {
  "history.actor": "Who",
  "history.anyDoor": "Any source",
  "history.backTo": "Back to revision {revision}",
  "history.between": "From revision {from} to {to}",
  "history.clear": "Clear",
  "history.compare": "Compare two",
  "history.compareNow": "Compare with now",
  "history.door": "Source",
  "history.goBack": { one: "Bring back 1 setting", other: "Bring back {count} settings" },
  "history.older": "Show older ones",
  "history.oldest": "Revisions before {revision} are not kept any more.",
  "history.peer": "From",
  "history.revision": "Revision {revision}",
  "history.since": "From date",
  "history.skipped": {
    one: "1 setting can’t be brought back",
    other: "{count} settings can’t be brought back",
  },
  "history.swap": "Other way round",
  "history.time": "When",
  "history.undoTo": "Go back to {revision}",
  "history.until": "To date",
  "history.wentBack": "The settings are those of revision {to} again, as revision {revision}.",
} as const satisfies Readonly<Record<string, Message>>;
