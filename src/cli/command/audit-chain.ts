// Actions verify and export of the command audit, which read all rows.

import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { type AuditEvent, AuditEventSchema } from "../../../gen/mooring/v1/audit_pb.js";
import {
  AuditService,
  type ListAuditEventsResponse,
} from "../../../gen/mooring/v1/audit_service_pb.js";
import {
  type AuditRow,
  type Checkpoint,
  createVerifier,
  readCheckpoint,
  type Verifier,
} from "../../audit/checkpoint.ts";
import { quote } from "../../config/complaint.ts";
import type { CommandRun } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { nameOf, readText } from "../file.ts";
import { counted } from "../quantity.ts";

/** Maximum number of rows of a page of the service. */
const PAGE = 1_000;
/** Interval of progress messages, in rows. */
const PROGRESS = 100_000;
/** Maximum size of a checkpoint with its signatures, in bytes. */
const MAX_CHECKPOINT = 64 * 1024;

export async function verifyAudit(run: CommandRun): Promise<void> {
  const { args, output, connectTo, notice } = run;
  if (args.is("json")) throw usage("audit verify prints no JSON: its exit code is the result");
  const checkpoint = await readCheckpointFile(run);
  const client = await connectTo(AuditService);
  const { checkpoint: now } = await client.getCheckpoint({});
  if (checkpoint !== undefined && checkpoint.origin !== now?.origin)
    throw new CliFailure(
      EXIT.failed,
      `the checkpoint is of the database ${quote(checkpoint.origin)}, and this one is ${quote(now?.origin ?? "")}`,
    );
  let verifier: Verifier | undefined;
  let rows = 0;
  const refuse = (problem: string | undefined): void => {
    if (problem !== undefined)
      throw new CliFailure(EXIT.failed, `the audit is damaged: ${problem}`);
  };
  for await (const { events, oldestSequence, floorHash } of pages(client, 0n)) {
    // Without rows, the position is that of the row before the oldest: 0 if there never was a row.
    const before = oldestSequence === 0n ? (now?.sequence ?? 0n) : oldestSequence - 1n;
    verifier ??= createVerifier({ seq: Number(before), hash: floorHash }, checkpoint);
    for (const event of events) {
      refuse(verifier.add(rowOf(event)));
      rows += 1;
      if (rows % PROGRESS === 0) notice(`${counted(rows, "row")} so far`);
    }
  }
  refuse(verifier?.end());
  const { seq, hash } = verifier?.last ?? { seq: 0, hash: "" };
  const proved = checkpoint === undefined ? "" : ", and match the checkpoint";
  await output.write(
    rows === 0
      ? `the audit has no rows${proved}\n`
      : `the audit is intact: rows ${seq - rows + 1} to ${seq} follow each other${proved}; the newest has the hash ${hash}\n`,
  );
}

export async function exportAudit({ args, output, connectTo }: CommandRun): Promise<void> {
  const after = rowNumber(args.text("after") ?? "0");
  const client = await connectTo(AuditService);
  for await (const { events } of pages(client, after))
    for (const event of events) await output.jsonLine(AuditEventSchema, event);
}

/** Parses the row number of `--after`. @throws CliFailure (usage). */
export function rowNumber(after: string): bigint {
  if (/^\d{1,15}$/.test(after)) return BigInt(after);
  throw usage(`--after ${quote(after)} is not the number of a row, such as 12`);
}

/** All pages after a row, the oldest first. */
async function* pages(
  client: Client<typeof AuditService>,
  afterSequence: bigint,
): AsyncIterable<ListAuditEventsResponse> {
  let pageToken = "";
  do {
    const page = await client.listAuditEvents({ afterSequence, pageSize: PAGE, pageToken });
    yield page;
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
}

async function readCheckpointFile({ args, world }: CommandRun): Promise<Checkpoint | undefined> {
  const path = args.text("checkpoint");
  if (path === undefined) return undefined;
  const checkpoint = readCheckpoint(await readText({ path, limit: MAX_CHECKPOINT }, world));
  if (checkpoint === undefined)
    throw new CliFailure(
      EXIT.failed,
      `${nameOf(path)} is not a checkpoint: a checkpoint has four lines, as "mooring audit checkpoint" prints them`,
    );
  return checkpoint;
}

function rowOf({ sequence, time, door, previousHash, ...event }: AuditEvent): AuditRow {
  return {
    ...event,
    transport: door,
    seq: Number(sequence),
    time: time === undefined ? Number.NaN : timestampMs(time),
    prev: previousHash,
  };
}
