import type { Message } from "../en.ts";

/** English texts that several pages show. */
export const pagesTexts = {
  "action.cancel": "Cancel",
  "action.copied": "Copied",
  "action.copy": "Copy",
  "action.notCopied": "The browser does not permit copying: select the text yourself.",

  "change.added": "new",
  "change.deleted": "deleted",
  "change.none": "No changes.",
  "change.secretChanged": "A new secret value. It is not shown, and the history does not keep it.",
  "change.secretCleared": "The secret value is removed.",
  "change.secretSet": "A secret value is set. It is not shown, and the history does not keep it.",
  "change.undo": "Discard the edit of {key}",

  "diff.added": "Added",
  "diff.removed": "Removed",
  "diff.same": { one: "1 unchanged line", other: "{count} unchanged lines" },

  "drivers.choose": "choose",
  "drivers.common": "Common items",
  "drivers.guide": "Source of the values",
  "drivers.own": "Items of this driver",
  "drivers.required": "required",
  "drivers.requiredUnless": "required without {items}",

  "editor.off": "Off",
  "editor.on": "On",

  "history.clear": "Clear",
  "history.key": "Key",
  "history.since": "From date",
  "history.until": "To date",

  "json.mistake": "This is not JSON at line {line}, column {column}",

  "incident.configuration": "configuration",
  "incident.credential": "credential",
  "incident.network": "network",
  "incident.person": "sign-in required",
  "incident.gone": "gone",
  "incident.quota": "quota",
  "incident.unknown": "unknown cause",

  "kept.discard": "Discard them",
  "kept.hint": "A typed secret is not kept when the page is reloaded.",
  "kept.lost": "Typed secrets are not kept: {names}. Enter them again.",
  "kept.restored": "Your unsaved inputs were restored.",

  "mount.allSites": "all sites",
  "mount.anySite": "Any site",
  "mount.delete": "Delete",
  "mount.deleteNow": "Delete now",
  "mount.disabled": "disabled",
  "mount.everySite": "All sites, also those that are added later",
  "mount.name": "Name",
  "mount.site": "Site",
  "mount.sites": "Sites",

  "number.between": "{min} to {max}",
  "number.least": "at least {min}",
  "number.most": "at most {max}",

  "pairs.add": "Add a value",
  "pairs.name": "Name {number}",
  "pairs.nameOnly": "name",
  "pairs.remove": "Remove value {number}",
  "pairs.value": "Value {number}",
  "pairs.valueOnly": "value",

  "reason.hint": "In a few words",
  "reason.label": "Reason",
  "reason.optional": "optional, for the history",

  "review.difference": "Difference",
  "review.refused": { one: "1 value is refused", other: "{count} values are refused" },

  "settings.filters": "Filters",

  "task.end": "End it",
  "task.ended": "Ended. What was done until then stays.",
  "task.part": "{done} of {all} · {name}",
  "task.progress": "Progress",

  "token.made": "This is the new token. The old one is no longer valid. You stay signed in here.",
  "token.question":
    "The old token becomes invalid at once: scripts, pages and services that use it need the new one.",
  "token.reset": "Replace the token",
  "token.resetNow": "Replace now",

  "value.empty": "empty",
} as const satisfies Readonly<Record<string, Message>>;
