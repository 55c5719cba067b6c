import type { Text } from "../../messages/message.ts";

/**
 * Work in progress on a mount of a site; empty: none. Stored before the first call.
 * `mount`: the site has the whole row, and its driver may still be starting. `gone`: deleted; the row of
 * a hanging mount may come back.
 */
type Phase = "" | "create" | "change" | "mount" | "delete" | "gone";

/** Value that the site stored in place of the one that was sent. Both are keyed hashes. */
export interface Rewritten {
  readonly sent: string;
  readonly got: string;
}

/** State of one mount on one site. Values are kept as keyed hashes only. */
export interface MountState {
  /** Id, path and driver of the row, as the site had it last; id 0: it was not seen yet. */
  readonly id: number;
  readonly path: string;
  readonly driver: string;
  readonly phase: Phase;
  /** When the phase, or a mount without an end, was first seen; milliseconds since 1970 UTC. */
  readonly since: number;
  /** The site has refused to disable it, because the mount is not in its memory. */
  readonly unmounted: boolean;
  /** The mount's revision that is on the site; 0: none. */
  readonly applied: number;
  /** The mount's revision that was tried last, with or without success. */
  readonly tried: number;
  /** The revision of the learned items that were sent, or that the site had when it was first seen. */
  readonly credential: number;
  /** Hash of the site's learned items before a push of others that has not been confirmed. */
  readonly before: string;
  /** Hash of the site's learned items when they were last read. */
  readonly learned: string;
  /** By item or member. */
  readonly rewritten: Readonly<Record<string, Rewritten>>;
  /** Content by item, when both sides were last equal: `sent` is Mooring's, `got` the site's. */
  readonly content: Readonly<Record<string, Rewritten>>;
  /** A push whose result the driver has not normalised yet. */
  readonly unread: boolean;
  /** Names of items and members that differ. */
  readonly differs: readonly string[];
  /** The row's status without secrets, first line. */
  readonly status: string;
  /** Error, or a stuck state with its remedy; empty: none. */
  readonly error: Text;
  readonly failures: number;
  readonly nextTry: number;
  /** Times of recent corrections of drift. */
  readonly corrections: readonly number[];
}

export const NEW_MOUNT: MountState = Object.freeze({
  id: 0,
  path: "",
  driver: "",
  phase: "",
  since: 0,
  unmounted: false,
  applied: 0,
  tried: 0,
  credential: 0,
  before: "",
  learned: "",
  rewritten: {},
  content: {},
  unread: false,
  differs: [],
  status: "",
  error: "",
  failures: 0,
  nextTry: 0,
  corrections: [],
});

/** A mount of a site that Mooring does not have. */
export interface ExtraMount {
  readonly id: number;
  readonly path: string;
  readonly driver: string;
}

/** State of the mounts of one site as a whole. */
export interface SiteMounts {
  /** True once the mounts were adopted or pushed on request; until then nothing is written there. */
  readonly met: boolean;
  /** When the list was last read, in milliseconds since 1970 UTC; 0: never. */
  readonly readAt: number;
  readonly extra: readonly ExtraMount[];
  readonly error: Text;
  readonly errorKind: string;
  readonly failures: number;
  readonly nextTry: number;
  /** Names of mounts that a user wants pushed whatever was tried before. */
  readonly insist: readonly string[];
}

export const NEW_SITE_MOUNTS: SiteMounts = Object.freeze({
  met: false,
  readAt: 0,
  extra: [],
  error: "",
  errorKind: "",
  failures: 0,
  nextTry: 0,
  insist: [],
});
