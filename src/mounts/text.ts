import { message } from "../messages/message.ts";
import type { KindTexts } from "../records/text.ts";

/** Messages about mounts. */
export const MOUNT_TEXTS: KindTexts = {
  named: (name) => message("THE_MOUNT", { name }),
  another: () => message("ANOTHER_MOUNT"),
  unknown: (name, hint) => message("MOUNT_NOT_FOUND", { name: name.slice(0, 64), hint }),
  exists: (name) => message("MOUNT_EXISTS", { name }),
  deleted: (name) => message("MOUNT_DELETED", { name }),
  changed: (name, revision, expected) => message("MOUNT_CHANGED", { name, revision, expected }),
  repeated: (field, name) => message("MOUNT_REPEATED", { field, name }),
  tooMany: (count, most) => message("TOO_MANY_MOUNTS", { count, most }),
  secretsLost: (items) => message("MOUNT_SECRETS_LOST", { items }),
  restoreRedirects: (items) => message("ROLLBACK_REDIRECTS", { items }),
  secretsOmitted: (items) => message("MOUNT_SECRETS_NOT_IN_DOCUMENT", { items }),
};
