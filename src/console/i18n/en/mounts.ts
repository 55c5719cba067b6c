import type { Message } from "../en.ts";

/** English texts of the pages of mounts. */
export const mountsTexts = {
  "effect.disable": "On {site}, {path} is disabled.",
  "effect.remount": "On {site}, {path} is mounted again, which interrupts it.",
  "effect.remove": "On {site}, {path} is removed.",
  "effect.save": "Save",
  "effect.title": "Effects on running servers",

  "incident.acknowledge": "Acknowledge",
  "incident.acknowledged": "acknowledged by {actor}",
  "incident.items": "To replace: {names}",
  "incident.title": { one: "1 mount fails", other: "{count} mounts fail" },

  "mount.again": "Mount again",
  "mount.allowShared": "Several sites may share the credential",
  "mount.asking": "The site is asking the provider, which can take two minutes.",
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
    "This mount was restored without its secrets. It is sent to no site until these items are set: {items}",
  "mount.incomplete": "incomplete",
  "mount.isDisabled": "Disabled",
  "mount.itself": "The mount",
  "mount.listed": "listed",
  "mount.nameHint":
    "Letters, digits, dots, underscores and hyphens. The name stays when the path changes.",
  "mount.neverListed": "not listed at its provider yet",
  "mount.newValue": "New value",
  "mount.noSite": "no site",
  "mount.ok": "ok",
  "mount.preview": "Preview",
  "mount.replace": "Replace a credential",
  "mount.replaceAbout":
    "Replaces the value in every mount of this driver that has the same one, in one revision.",
  "mount.replaceNow": "Replace it",
  "mount.save": "Save",
  "mount.sitesHint": "Without a site, the mount is kept here only.",
  "mount.skipped": "skipped",
  "mount.stuck": "stuck, needs attention",
  "mount.test": "Test",
  "mount.unchanged": "unchanged",
  "mount.waiting": "waiting",
  "mount.works": { one: "It works: 1 entry", other: "It works: {count} entries" },

  "mounts.about": "A mount is a storage of sites. Create one, or adopt those of a site.",
  "mounts.adopt": "Adopt mounts of a site",
  "mounts.adoptAbout": "Nothing is written on the site. Its storages become mounts here.",
  "mounts.gone": "The mount {name} does not exist any more.",
  "mounts.look": "Preview the adoption",
  "mounts.new": "New mount",
  "mounts.none": "There are no mounts.",
  "mounts.same": "No differences: the mounts of the site are equal.",
  "mounts.take": "Adopt them",

  "shares.line": "Line {line}: {problem}",
  "shares.links": "Share links",
  "shares.linksHint":
    "Text as you copied it. The extraction code may be in the link (?pwd=), after a label such as “code:”, or after the link and a space.",
  "shares.noAddress": "there is no link",
  "shares.noCode": "the driver requires an extraction code",
  "shares.noShare": "the link has no share ID of this driver",
  "shares.path": "Paths",
  "shares.pathHint": "{name} is replaced by the name of the mount, which is the ID of the share.",
  "shares.otherProvider": "the link is of another provider: choose its driver",
  "shares.repeated": "repeated: another line has the same share",
  "shares.title": "Mount share links",
  "shares.unclearCode":
    "it is not clear which text is the extraction code: write “code:” before it",
  "shares.unknownPart": "the link is about a folder or file that cannot be read from it",
} as const satisfies Readonly<Record<string, Message>>;
