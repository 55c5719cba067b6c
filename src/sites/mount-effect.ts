import { create } from "@bufbuild/protobuf";
import {
  type MountResult as MountResultMessage,
  MountResultSchema,
} from "../../gen/mooring/v1/mount_pb.js";
import type { AuditOrigin } from "../audit/entry.ts";
import type { Text } from "../messages/message.ts";
import type { Site } from "./site.ts";

/**
 * Effect of a change on a mount of a running server. `remove` and `disable` end the service of its
 * files; `remount` interrupts it.
 */
export interface MountEffect {
  readonly action: "remove" | "disable" | "remount";
  /** Name of the site. */
  readonly site: string;
  /** Path of the mount on the site. */
  readonly path: string;
}

/** Result of a change for one mount. */
export interface MountResult {
  readonly name: string;
  readonly outcome: "created" | "changed" | "deleted" | "unchanged" | "skipped";
  readonly note: Text;
  readonly differs: readonly string[];
  /** Values of the source that the mount does not keep. Default: none. */
  readonly leftOut?: readonly string[];
  /** Effects on mounts of running servers. Default: none. */
  readonly effects?: readonly MountEffect[];
}

/** Effects of changes of sites on the mounts. */
export interface EffectsOnMounts {
  /**
   * Removes a deleted site from the mounts that name it.
   *
   * @param options.dryRun changes nothing.
   * @returns the mounts that name it. @throws FAILED_PRECONDITION for a mount that a file declares
   *   for this site.
   */
  leave(
    site: Site,
    origin: AuditOrigin,
    options: { readonly dryRun: boolean },
  ): Promise<readonly MountResult[]>;
  /** Mounts that a change of a site affects on its server, from the last read of the server. */
  affected(before: Site, after: Site): readonly MountResult[];
}

/** For tests and programs without mounts. */
export const NO_EFFECTS: EffectsOnMounts = {
  leave: async () => [],
  affected: () => [],
};

/** Converts the result of a change for one mount. */
export function mountResultToProto(
  { name, outcome, note, differs, leftOut = [], effects = [] }: MountResult,
  say: (text: Text) => string,
): MountResultMessage {
  return create(MountResultSchema, {
    name,
    outcome,
    note: say(note),
    differs: [...differs],
    leftOut: [...leftOut],
    effects: effects.map(({ action, site, path }) => ({ action, site, mountPath: path })),
  });
}
