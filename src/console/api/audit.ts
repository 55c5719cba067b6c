import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import type { Signal } from "@preact/signals";
import type { AuditCheckpoint, AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import {
  AuditService,
  type ListAuditEventsRequestSchema,
} from "../../../gen/mooring/v1/audit_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { transport } from "./client.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";

export const auditService = createClient(AuditService, transport);

/** Filter of the audit in a request. */
export type AuditFilter = Pick<
  MessageInitShape<typeof ListAuditEventsRequestSchema>,
  "actor" | "tokenId" | "methods" | "outcomes" | "subject" | "since" | "until"
>;

/** Rows read so far, newest first. */
export interface AuditRows {
  readonly events: readonly AuditEvent[];
  /** Token of the page with older rows; empty: none. */
  readonly next: string;
  readonly oldest: bigint;
  /** Row up to which all matching rows have been read. */
  readonly seen: bigint;
  /** Newest position of the audit; undefined: no row yet. */
  readonly checkpoint: AuditCheckpoint | undefined;
}

/** Maximum number of rows in the page; older ones are read again on demand. */
const MOST = 5_000;

/**
 * Reads the newest rows, then each new one.
 *
 * @param into undefined: nothing was read yet. @param signal ends the stream.
 */
export async function followAudit(
  filter: AuditFilter,
  into: Signal<AuditRows | undefined>,
  failure: Signal<Failure | undefined>,
  signal: AbortSignal,
): Promise<void> {
  // No new rows appear before a time in the past.
  const isPast = filter.until !== undefined;
  if (isPast && into.peek() !== undefined) return;
  const reads = followCalls<undefined>({
    open: (_, options) => readRows(filter, into, options),
    // The rows after the last one have been deleted: start again.
    restart: () => {
      into.value = undefined;
      return undefined;
    },
    failure,
    signal,
  });
  for await (const _ of reads) if (isPast) return;
}

/** Reads the rows before the oldest known one, and adds them. @throws ConnectError */
export async function readOlder(
  filter: AuditFilter,
  into: Signal<AuditRows | undefined>,
): Promise<void> {
  const known = into.peek();
  if (known === undefined) return;
  const page = await auditService.listAuditEvents({ ...filter, pageToken: known.next });
  const events = [...(into.peek()?.events ?? []), ...page.events];
  into.value = { ...known, ...into.peek(), events, next: page.nextPageToken };
}

async function readNewest(filter: AuditFilter, signal: AbortSignal): Promise<AuditRows> {
  // Read first, so that no row is missed between the list and the watch.
  const checkpoint = await readCheckpoint(signal);
  const page = await auditService.listAuditEvents(filter, { signal });
  const stood = checkpoint?.sequence ?? 0n;
  const newest = page.events[0]?.sequence ?? 0n;
  return {
    events: page.events,
    next: page.nextPageToken,
    oldest: page.oldestSequence,
    seen: newest > stood ? newest : stood,
    // A row may have been written between the two calls.
    checkpoint: newest > stood ? await readCheckpoint(signal) : checkpoint,
  };
}

/** Reads the newest rows unless some are known, then each new one; yields after each change. */
async function* readRows(
  filter: AuditFilter,
  into: Signal<AuditRows | undefined>,
  options: StreamOptions,
): AsyncGenerator<undefined> {
  const { signal } = options;
  if (into.peek() === undefined) {
    into.value = await readNewest(filter, signal);
    yield;
  }
  const { since, until: _, ...wanted } = filter;
  const request = { ...wanted, afterSequence: into.peek()?.seen ?? 0n };
  for await (const { sequence, events } of auditService.watchAudit(request, options)) {
    if (events.length === 0) continue;
    const from = since === undefined ? 0 : Number(since.seconds) * 1_000;
    const rows = events.filter(({ time }) => time !== undefined && timestampMs(time) >= from);
    const checkpoint = await readCheckpoint(signal);
    const now = into.peek();
    if (now === undefined) continue;
    const all = [...rows.toReversed(), ...now.events];
    into.value = { ...now, seen: sequence, checkpoint, events: all.slice(0, MOST) };
    yield;
  }
}

async function readCheckpoint(signal: AbortSignal): Promise<AuditCheckpoint | undefined> {
  return (await auditService.getCheckpoint({}, { signal })).checkpoint;
}
