import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { signal } from "@preact/signals";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "./client.ts";
import { may } from "./rights.ts";

/** Actor of a revision, and its time in milliseconds since 1970 UTC. */
export interface Maker {
  readonly actor: string;
  readonly time: number;
}

/** Known actors by revision. */
export const makers = signal<ReadonlyMap<bigint, Maker>>(new Map());

/** Number of the newest revisions read at once. */
const PAGE = 200;
/** Revisions that have been requested, so that many rows cause one request. */
const requested = new Set<bigint>();
let newest: Promise<void> | undefined;

export function rememberRevisions(revisions: readonly Revision[]): void {
  const known = new Map(makers.peek());
  for (const { revision, actor, time } of revisions) known.set(revision, makerOf(actor, time));
  makers.value = known;
}

export function rememberRevision(
  revision: bigint,
  { actor, time }: { readonly actor: string; readonly time?: Timestamp | undefined },
): void {
  makers.value = new Map(makers.peek()).set(revision, makerOf(actor, time));
}

/**
 * Reads the actor of a revision, which may have been deleted, alone or with the newest revisions.
 */
export async function loadMaker(revision: bigint): Promise<void> {
  if (makers.peek().has(revision) || requested.has(revision) || !may("history:read")) return;
  requested.add(revision);
  try {
    newest ??= settingService
      .listRevisions({ pageSize: PAGE })
      .then(({ revisions }) => rememberRevisions(revisions));
    await newest;
    if (makers.peek().has(revision)) return;
    const read = await settingService.getRevision({ revision });
    if (read.revision) rememberRevisions([read.revision]);
  } catch {
    // The actor is optional: otherwise only the number is shown.
  }
}

function makerOf(actor: string, time: Timestamp | undefined): Maker {
  return { actor, time: time === undefined ? 0 : timestampMs(time) };
}
