import { create } from "@bufbuild/protobuf";
import { type Effect as EffectMessage, EffectSchema } from "../../gen/mooring/v1/effect_pb.js";

/**
 * Effect of a change on a running server. `remove` and `disable` end a service, `remount` interrupts
 * it, `open` gives more people access to a folder, `change` overwrites a record of the server, and
 * `follow` permits writes to the site.
 */
export interface Effect {
  readonly action: "remove" | "disable" | "remount" | "open" | "change" | "follow";
  /** Name of the site. */
  readonly site: string;
  /** Kind of the record; empty: the whole site. */
  readonly kind: "mount" | "rule" | "";
  /** Path of the record on the site before the change; empty: the whole site. */
  readonly path: string;
}

/** Converts an effect. */
export function effectToProto({ action, site, kind, path }: Effect): EffectMessage {
  return create(EffectSchema, { action, site, kind, path });
}
