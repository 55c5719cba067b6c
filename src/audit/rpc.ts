import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  AuditCheckpointSchema,
  type AuditEvent,
  AuditEventSchema,
} from "../../gen/mooring/v1/audit_pb.js";
import {
  type AuditService as AuditServiceDesc,
  GetCheckpointResponseSchema,
  ListAuditEventsResponseSchema,
  type WatchAuditRequest,
  WatchAuditResponseSchema,
} from "../../gen/mooring/v1/audit_service_pb.js";
import { memoize } from "../memoize.ts";
import { invalid } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { invalidPageToken } from "../messages/page.ts";
import { checkpointText, isTime } from "./checkpoint.ts";
import { optionalNumber } from "./entry.ts";
import { etagOfRow, type ReadRow, readRowEtag } from "./row-etag.ts";
import type { AuditSelection } from "./selection.ts";
import type { AuditPage, AuditService } from "./service.ts";
import type { Progress } from "./tail.ts";

/** Implements AuditService. */
export function auditImpl(audit: AuditService): ServiceImpl<typeof AuditServiceDesc> {
  const watchEvent = memoize(({ seq, hash, rows }: Progress) =>
    create(WatchAuditResponseSchema, {
      sequence: BigInt(seq),
      etag: etagOfRow({ seq, hash }),
      events: rows.map(eventOf),
    }),
  );
  return {
    listAuditEvents: async (request) => {
      const page = await audit.list({
        ...selectionOf(request),
        since: optionalMs(request.since),
        until: optionalMs(request.until),
        pageSize: request.pageSize,
        from: readPageToken(request.pageToken),
        after: optionalNumber(request.afterSequence),
      });
      return create(ListAuditEventsResponseSchema, {
        events: page.rows.map(eventOf),
        nextPageToken: page.next === undefined ? "" : String(page.next),
        oldestSequence: BigInt(page.oldest),
        floorHash: page.floorHash,
      });
    },
    watchAudit: async function* (request, { signal }) {
      const after = startOf(request);
      for await (const progress of audit.watch(selectionOf(request), after, signal))
        yield watchEvent(progress);
    },
    getCheckpoint: async () => {
      const checkpoint = await audit.checkpoint();
      const { origin, seq, hash, time, oldest } = checkpoint;
      return create(GetCheckpointResponseSchema, {
        checkpoint: create(AuditCheckpointSchema, {
          text: checkpointText(checkpoint),
          origin,
          sequence: BigInt(seq),
          hash,
          time: timestampFromMs(time),
        }),
        oldestSequence: BigInt(oldest),
      });
    },
  };
}

/** @throws INVALID_ARGUMENT for a text that is no etag. */
function startOf({ afterEtag, afterSequence }: WatchAuditRequest): ReadRow | undefined {
  const seq = optionalNumber(afterSequence);
  if (afterEtag === undefined) return seq === undefined ? undefined : { seq };
  const row = readRowEtag(afterEtag);
  if (row !== undefined) return row;
  throw invalid([{ field: "after_etag", description: message("AUDIT_ETAG_INVALID") }]);
}

function selectionOf(request: {
  readonly actor: string;
  readonly tokenId: string;
  readonly methods: readonly string[];
  readonly outcomes: readonly string[];
  readonly subject: string;
}): AuditSelection {
  const { actor, tokenId, methods, outcomes, subject } = request;
  return {
    actor: actor || undefined,
    tokenId: tokenId || undefined,
    methods: methods.length === 0 ? undefined : few("methods", methods),
    outcomes: outcomes.length === 0 ? undefined : few("outcomes", outcomes),
    subject: subject || undefined,
  };
}

/** Maximum number of names of one filter. */
const MAX_NAMES = 100;

function few(field: string, names: readonly string[]): readonly string[] {
  if (names.length <= MAX_NAMES) return names;
  throw invalid([{ field, description: message("TOO_MANY_NAMES", { most: MAX_NAMES, field }) }]);
}

function eventOf(row: AuditPage["rows"][number]): AuditEvent {
  const { seq, time, transport, subjects, prev, ...texts } = row;
  return create(AuditEventSchema, {
    ...texts,
    transport,
    sequence: BigInt(seq),
    // A damaged row has none; the verifier reports it.
    ...(isTime(time) ? { time: timestampFromMs(time) } : {}),
    subjects: [...subjects],
    previousHash: prev,
  });
}

function optionalMs(time: Timestamp | undefined): number | undefined {
  return time && timestampMs(time);
}

function readPageToken(token: string): number | undefined {
  if (token === "") return undefined;
  if (/^(0|[1-9]\d{0,15})$/.test(token)) return Number(token);
  throw invalidPageToken();
}
