import { message } from "../messages/message.ts";
import type { KindTexts } from "../records/text.ts";

/** Messages about folder rules. */
export const RULE_TEXTS: KindTexts = {
  named: (path) => message("THE_RULE", { path }),
  another: () => message("ANOTHER_RULE"),
  unknown: (path, hint) => message("RULE_NOT_FOUND", { path: path.slice(0, 255), hint }),
  exists: (path) => message("RULE_EXISTS", { path }),
  deleted: (path) => message("RULE_DELETED", { path }),
  changed: (path, revision, expected) => message("RULE_CHANGED", { path, revision, expected }),
  repeated: (field, path) => message("RULE_REPEATED", { field, path }),
  tooMany: (count, most) => message("TOO_MANY_RULES", { count, most }),
  secretsLost: (items) => message("RULE_PASSWORDS_LOST", { items }),
  restoreRedirects: (items) => message("RULE_ROLLBACK_REDIRECTS", { items }),
  secretsOmitted: (items) => message("RULE_PASSWORDS_NOT_IN_DOCUMENT", { items }),
};
