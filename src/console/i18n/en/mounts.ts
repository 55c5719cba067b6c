import type { Message } from "../en.ts";

/** English texts of the pages of mounts. */
export const mountsTexts = {
  "incident.acknowledge": "I deal with it",
  "incident.acknowledged": "acknowledged by {actor}",
  "incident.items": "To replace: {names}",
  "incident.title": { one: "1 mount does not work", other: "{count} mounts do not work" },

  "mount.allowShared": "Several sites may share the credential",
  "mount.changed": "changed",
  "mount.created": "created",
  "mount.credential": "Credential",
  "mount.deleteQuestion":
    "The mount is deleted here and on the sites that follow. Files at the provider stay.",
  "mount.deleted": "deleted",
  "mount.differs": "differs",
  "mount.driver": "Driver",
  "mount.failing": "failing",
  "mount.giveMissing":
    "This mount came back by a rollback without its secrets. No site gets it until these are given: {items}",
  "mount.incomplete": "incomplete",
  "mount.isDisabled": "Disabled",
  "mount.itself": "The mount",
  "mount.nameHint":
    "Letters, digits, dots, underscores and hyphens. It stays when the path changes.",
  "mount.newValue": "New value",
  "mount.ok": "as it should be",
  "mount.preview": "Preview",
  "mount.replace": "Replace a credential",
  "mount.replaceAbout":
    "Every mount of this driver that has the same value gets the new one, in one revision.",
  "mount.replaceNow": "Replace it",
  "mount.save": "Save",
  "mount.skipped": "left out",
  "mount.stuck": "needs a user",
  "mount.unchanged": "unchanged",
  "mount.waiting": "on its way",

  "mounts.about":
    "A mount is a storage that sites are to have. Create one, or take those of a site.",
  "mounts.adopt": "Take mounts of a site",
  "mounts.adoptAbout": "Nothing is written on the site. What it has becomes a mount here.",
  "mounts.gone": "There is no mount {name} any more.",
  "mounts.look": "Show what would be taken",
  "mounts.new": "New mount",
  "mounts.none": "There are no mounts.",
  "mounts.same": "Nothing: the mounts of the site are as they are here.",
  "mounts.take": "Take them",

  "shares.line": "Line {line}: {problem}",
  "shares.links": "Share links",
  "shares.linksHint":
    "One link per line, with its extraction code after a space or as ?pwd= in the link.",
  "shares.noAddress": "there is no link",
  "shares.noCode": "the driver requires an extraction code",
  "shares.noShare": "the link has no share ID that the driver knows",
  "shares.path": "Paths",
  "shares.pathHint": "{name} is replaced by the name of the mount, which is the ID of the share.",
  "shares.repeated": "another line has the same share",
  "shares.title": "Mount share links",
} as const satisfies Readonly<Record<string, Message>>;
