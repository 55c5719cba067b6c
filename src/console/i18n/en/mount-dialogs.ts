import type { Message } from "../en.ts";

/** English texts of the dialogs of a mount. */
export const mountDialogTexts = {
  "mount.copyPath": "Path of the copy",
  "mount.copyTitle": "Copy {name}",
  "mount.renameTitle": "Rename {name}",
  "mount.newName": "New name",
  "mount.exportAbout":
    "Rows for the backup page of a server. For Mooring, use the page Backup, which keeps sites and own values.",
  "mount.exportNoSite": "the mounts as they are here",
  "mount.exportNow": "Download",
  "mount.exportSecrets": "With secrets, in the clear",
  "mount.exportSite": "Values as a site has them",
  "mount.replaceAbout":
    "Replaces the value in every mount of this driver that has the same one, in one revision.",
  "mount.replaceNow": "Replace it",
  "mount.credential": "Credential",
  "mount.newValue": "New value",
} as const satisfies Readonly<Record<string, Message>>;
