import type { StoredRevision } from "../ledger/store.ts";
import { message, type Text } from "../messages/message.ts";

/** Reasons that the program stores, in English, with its own changes. */
const REASONS: ReadonlyMap<string, Text> = new Map(
  [
    message("REASON_START"),
    message("REASON_UPSTREAM_VALUES"),
    message("REASON_STATE_FILE"),
    message("REASON_SETTINGS_FILE"),
    message("REASON_MOUNT_FILE"),
  ].map((reason) => [String(reason), reason]),
);

/** Transports of changes by the program; no call of a client has one of them. */
const OWN_TRANSPORTS: ReadonlySet<string> = new Set(["start", "upstream", "file"]);

/** Reason of a revision: that of the program as a message, that of a caller unchanged. */
export function reasonText({
  transport,
  reason,
}: Pick<StoredRevision, "transport" | "reason">): Text {
  return (OWN_TRANSPORTS.has(transport) ? REASONS.get(reason) : undefined) ?? reason;
}
