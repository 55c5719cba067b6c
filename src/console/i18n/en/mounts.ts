import type { Message } from "../en.ts";

/** English texts of the pages of mounts. */
export const mountsTexts = {
  "incident.acknowledge": "Acknowledge",
  "incident.acknowledgeAbout":
    "Other admins see that you take care of it. The incident closes by itself when the mount works.",
  "incident.acknowledged": "acknowledged by {actor}",
  "incident.items": "To replace: {names}",
  "incident.note": "Note for others",
  "incident.noteHint": "Optional, at most 500 characters.",
  "incident.title": { one: "1 open incident", other: "{count} open incidents" },

  "mount.again": "Mount again",
  "mount.allowShared": "Several sites may share the credential",
  "mount.asking": "The site is asking the provider, which can take two minutes.",
  "mount.copy": "Copy",
  "mount.deleteQuestion":
    "The mount is deleted here and on the sites that follow. Files at the provider stay.",
  "mount.driver": "Driver",
  "mount.export": "Export",
  "mount.giveMissing":
    "This mount was restored without its secrets. It is sent to no site until these items are set: {items}",
  "mount.isDisabled": "Disabled",
  "mount.itself": "The mount",
  "mount.listed": "listed",
  "mount.nameHint":
    "Letters, digits, dots, underscores and hyphens. The name stays when the path changes.",
  "mount.neverListed": "not listed at its provider yet",
  "mount.overwrites": "Restore content that users edit on a site, instead of adopting it",
  "mount.ownPath": "Path on {site}",
  "mount.ownPathHint": "Empty: the path of the mount.",
  "mount.ownValuesHint": "Items of the driver, or of every mount.",
  "mount.problems": { one: "1 value is invalid", other: "{count} values are invalid" },
  "mount.rename": "Rename",
  "mount.replace": "Replace a credential",
  "mount.sitesHint": "Without a site, the mount is kept here only.",
  "mount.test": "Test",
  "mount.works": { one: "It works: 1 entry", other: "It works: {count} entries" },

  "mounts.about": "A mount is a storage of sites. Create one, or adopt those of a site.",
  "mounts.adopt": "Adopt mounts of a site",
  "mounts.adoptAbout": "Nothing is written on the site. Its storages become mounts here.",
  "mounts.days": "Last 30 days of all mounts",
  "mounts.gone": "The mount {name} does not exist any more.",
  "mounts.import": "Import",
  "mounts.look": "Preview the adoption",
  "mounts.new": "New mount",
  "mounts.none": "There are no mounts.",
  "mounts.noneFound": "No mounts match.",
  "mounts.same": "No differences: the mounts of the site are equal.",
  "mounts.search": "Name, path, driver",
  "mounts.shareLinks": "Mount share links",
  "mounts.take": "Adopt them",
  "mounts.testAll": { one: "Test 1 mount", other: "Test {count} mounts" },
  "mounts.tested": { one: "1 of {all} works.", other: "{count} of {all} work." },
} as const satisfies Readonly<Record<string, Message>>;
