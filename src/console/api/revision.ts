import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { signal } from "@preact/signals";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import { settingService } from "./client.ts";
import { may } from "./rights.ts";

/** Who made a revision, and when in milliseconds since 1970 UTC. */
export interface Maker {
  readonly actor: string;
  readonly time: number;
}

/** What is known of who made which revision. */
export const makers = signal<ReadonlyMap<bigint, Maker>>(new Map());

/** How many of the newest revisions are read at once. */
const PAGE = 200;
/** Asked for already, so that many rows ask once. */
const asked = new Set<bigint>();
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

/** Finds out who made a revision: with the newest ones, or by itself. It may be kept no more. */
export async function learnMaker(revision: bigint): Promise<void> {
  if (makers.peek().has(revision) || asked.has(revision) || !may("history:read")) return;
  asked.add(revision);
  try {
    newest ??= settingService
      .listRevisions({ pageSize: PAGE })
      .then(({ revisions }) => rememberRevisions(revisions));
    await newest;
    if (makers.peek().has(revision)) return;
    const read = await settingService.getRevision({ revision });
    if (read.revision) rememberRevisions([read.revision]);
  } catch {
    // Who it was is a detail: the revision's number is shown without it.
  }
}

function makerOf(actor: string, time: Timestamp | undefined): Maker {
  return { actor, time: time === undefined ? 0 : timestampMs(time) };
}
