import type { Message } from "../en.ts";

/** English texts of the pages Settings and Review. */
export const settingsTexts = {
  "actor.unknown": "unknown actor",

  "colour.pick": "Pick a colour",

  "conflict.base": "Was",
  "conflict.changed": "{actor} has changed this while you were editing.",
  "conflict.gone": "This was deleted while you were editing.",
  "conflict.keepMine": "Keep mine",
  "conflict.leaveGone": "Keep it deleted",
  "conflict.mine": "Mine",
  "conflict.takeTheirs": "Take theirs",
  "conflict.theirs": "Theirs",
  "conflict.title": "Conflict at {key}",

  "delete.now": "Delete now",
  "delete.open": "Delete",
  "delete.question":
    "The setting and its value are deleted; its history stays. Clients can no longer read it.",
  "delete.title": "Delete {key}",

  "downloader.address": "Address",
  "downloader.addressWithName": "Address, with user name and password",
  "downloader.answers": "{name} {version} answers; its address is saved.",
  "downloader.connect": "Connect {name}",
  "downloader.secret": "RPC secret",
  "downloader.seedtime": "Seeding time in minutes",
  "downloader.test": "Test and save",
  "downloader.title": "Download managers",

  "edits.discard": "Discard all",
  "edits.review": "Review changes",
  "edits.title": "Edits",
  "edits.wrong": { one: "1 is refused", other: "{count} are refused" },

  "json.format": "Format",

  "list.add": "Add, then Enter",
  "list.remove": "Remove {name}",

  "mark.custom": "custom",
  "mark.deprecated": "deprecated",
  "mark.edited": "edited",
  "mark.managed": "managed by a file",
  "mark.public": "public",
  "mark.readonly": "read-only",
  "mark.secret": "secret",

  "new.help": "Description",
  "new.key": "Key",
  "new.make": "Create",
  "new.open": "New",
  "new.options": "Options, separated by commas",
  "new.title": "New custom setting",
  "new.type": "Type",
  "new.value": "Value",
  "new.visible": "Readable without a token",

  "review.back": "Back to the settings",
  "review.conflicts": {
    one: "1 setting was changed by another user",
    other: "{count} settings were changed by other users",
  },
  "review.nothing": "There are no edits to review.",
  "review.save": { one: "Save 1 change", other: "Save {count} changes" },
  "review.pending": "{site} does not have it yet: {reason}.",
  "review.saved": {
    one: "1 change is saved as revision {revision}.",
    other: "{count} changes are saved as revision {revision}.",
  },
  "review.saving": "Saving …",

  "row.changed": "{when} by {actor}",
  "row.default": "Default",
  "row.reset": "Reset to {value}",
  "row.undo": "Undo edit",

  "secret.clear": "Remove",
  "secret.hide": "Hide the value",
  "secret.isEmpty": "Not set",
  "secret.isHidden": "Set",
  "secret.isSet": "Set; type to replace it",
  "secret.show": "Show the value",
  "secret.willBeEmpty": "Will be removed",

  "settings.count": { one: "1 setting", other: "{count} settings" },
  "settings.found": { one: "1 of {all} settings", other: "{count} of {all} settings" },
  "settings.groups": "Groups",
  "settings.none": "No setting matches.",
  "settings.noneHint": "Every word must occur in the key, the name, the help or the value.",
  "settings.search": "Search settings",
  "settings.searchIn": "Search keys, names, help, values",
  "settings.showAll": "Show by group",
} as const satisfies Readonly<Record<string, Message>>;
