import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { type AuditEvent, AuditEventSchema } from "../../../gen/mooring/v1/audit_pb.js";
import {
  AuditService,
  GetCheckpointResponseSchema,
  type ListAuditEventsResponse,
  ListAuditEventsResponseSchema,
  type WatchAuditResponse,
  WatchAuditResponseSchema,
} from "../../../gen/mooring/v1/audit_service_pb.js";
import {
  type AuditRow,
  type Checkpoint,
  createVerifier,
  readCheckpoint,
  type Verifier,
} from "../../audit/checkpoint.ts";
import { quote } from "../../config/complaint.ts";
import { count, counted, type FlagName, listItems, localTime, pointInTime } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { CliFailure, EXIT, usage } from "../failure.ts";
import { nameOf, readText, writeNewFile } from "../file.ts";
import { printEvents } from "../follow.ts";
import { printableLine } from "../output.ts";

// The command audit: its actions are in the files beside this one.

/** Maximum number of rows of a page of the service. */
const PAGE = 1_000;
const DEFAULT_LIMIT = "20";
const MAX_LIMIT = 1_000_000;

const filters = [
  "actor",
  "token-id",
  "method",
  "outcome",
  "subject",
  "since",
  "until",
  "limit",
] as const satisfies readonly FlagName[];

/** Filters that following does not support. */
const following = [
  "follow",
  "after",
  "actor",
  "token-id",
  "method",
  "outcome",
  "subject",
] as const satisfies readonly FlagName[];

const actions: Readonly<Record<string, Action>> = {
  list: {
    count: 0,
    flags: [...filters, "follow", "after"],
    instead: "--actor NAME, --method RPCS or --subject GLOB",
    act: listOrFollow,
  },
  verify: { count: 0, flags: ["checkpoint"], instead: "--checkpoint PATH", act: verifyAudit },
  export: { count: 0, flags: ["after"], instead: "--after ROW", act: exportAudit },
  checkpoint: {
    count: 0,
    flags: ["output", "force"],
    instead: "--output PATH",
    act: writeCheckpoint,
  },
};

export const auditCommand: Command = {
  name: "audit",
  actions,
  usage: [
    "audit list [--actor NAME] [--token-id ID] [--method RPCS] [--outcome CODES] [--subject GLOB]",
    "audit list [--since TIME] [--until TIME] [-n N]",
    "audit list --follow [--after ROW] [--actor NAME] [--token-id ID] [--method RPCS]",
    "audit list --follow [--outcome CODES] [--subject GLOB]",
    "audit verify [--checkpoint PATH]",
    "audit export [--after ROW]",
    "audit checkpoint [--output PATH] [--force]",
  ],
  summary: "Print recorded calls, and verify that no record was changed",
  details: [
    "list --follow prints new rows, or all rows after a given one. After a broken",
    "connection it connects again without missing a row. verify checks all rows that",
    "are kept and names the first invalid one. checkpoint prints the current position:",
    "stored elsewhere, it reveals later whether earlier rows were changed or removed.",
    "export prints one JSON object per line, oldest first, with all hashed members.",
  ],
  flags: [...filters, "follow", "checkpoint", "after", "output", "force"],
  offline: true,
  positionals: [1, 1],
  run: (run) => runAction(auditCommand, run),
};

async function listOrFollow(run: CommandRun): Promise<void> {
  const { args } = run;
  if (!args.is("follow")) {
    if (args.has("after")) throw usage("--after requires audit list --follow or audit export");
    return listAudit(run);
  }
  const other = filters.find((flag) => args.has(flag) && !following.some((one) => one === flag));
  if (other !== undefined) throw usage(`--${other} cannot be combined with --follow`);
  if (args.has("database")) throw usage("--follow requires a service: omit --database");
  await followAudit(run);
}

function filterOf({ args }: CommandRun) {
  return {
    actor: args.text("actor") ?? "",
    tokenId: args.text("token-id") ?? "",
    methods: listItems(args.text("method"), "--method"),
    outcomes: listItems(args.text("outcome"), "--outcome"),
    subject: args.text("subject") ?? "",
  };
}

/** Row after which a stream begins: by its number, or by its etag. */
type AfterRow = { readonly afterSequence: bigint } | { readonly afterEtag: string };

async function followAudit(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(AuditService);
  const filter = filterOf(run);
  const text = args.text("after");
  await printEvents<WatchAuditResponse, AfterRow>(run, {
    from: text === undefined ? undefined : { afterSequence: rowNumber(text) },
    open: (after, options) => client.watchAudit({ ...filter, ...after }, options),
    positionOf: ({ etag }) => ({ afterEtag: etag }),
    write: async (message) => {
      if (args.is("json")) return output.jsonLine(WatchAuditResponseSchema, message);
      const lines = message.events.map((event) => printableLine(rowOf(event).join("  ")));
      if (lines.length > 0) await output.write(`${lines.join("\n")}\n`);
    },
    restart: async (options) => {
      const { oldestSequence } = await client.getCheckpoint({}, options);
      const from = oldestSequence > 0n ? oldestSequence - 1n : 0n;
      return { from: { afterSequence: from }, notice: `resuming with row ${from + 1n}` };
    },
  });
}

async function listAudit(run: CommandRun): Promise<void> {
  const { args, output, world, connectTo, notice } = run;
  const limit = count(args.text("limit") ?? DEFAULT_LIMIT, "--limit", MAX_LIMIT);
  const time = (name: "since" | "until") => {
    const text = args.text(name);
    if (text === undefined) return {};
    return { [name]: timestampFromMs(pointInTime(text, `--${name}`, world.now())) };
  };
  const filter = { ...filterOf(run), ...time("since"), ...time("until") };
  const client = await connectTo(AuditService);
  const reply = create(ListAuditEventsResponseSchema);
  do {
    const pageSize = Math.min(limit - reply.events.length, PAGE);
    const page = await client.listAuditEvents({
      ...filter,
      pageSize,
      pageToken: reply.nextPageToken,
    });
    const events = [...reply.events, ...page.events];
    Object.assign(reply, { ...page, events });
  } while (reply.nextPageToken !== "" && reply.events.length < limit);
  if (args.is("json")) return output.json(ListAuditEventsResponseSchema, reply);
  if (reply.events.length === 0) return notice("the audit has no matching row");
  await output.table(
    [
      { title: "ROW" },
      { title: "TIME" },
      { title: "ACTOR" },
      { title: "BY" },
      { title: "OUTCOME" },
      { title: "ABOUT", flexible: true },
      { title: "DETAIL", flexible: true },
    ],
    reply.events.map(rowOf),
  );
}

function rowOf({
  sequence,
  time,
  actor,
  transport,
  method,
  outcome,
  subjects,
  detail,
}: AuditEvent) {
  return [
    String(sequence),
    time === undefined ? "" : localTime(timestampMs(time)),
    actor,
    [transport, method].filter((part) => part !== "").join(" "),
    outcome,
    subjects.join(", "),
    detail === "{}" ? "" : detail,
  ];
}

async function writeCheckpoint({ args, output, world, connectTo, notice }: CommandRun) {
  const path = args.text("output");
  if (path !== undefined && args.is("json")) throw usage("--output and --json exclude each other");
  const client = await connectTo(AuditService);
  const read = () => client.getCheckpoint({});
  const textOf = ({ checkpoint }: Awaited<ReturnType<typeof read>>) => checkpoint?.text ?? "";
  if (path === undefined) {
    const reply = await read();
    if (args.is("json")) return output.json(GetCheckpointResponseSchema, reply);
    return output.write(textOf(reply));
  }
  const force = args.is("force");
  await writeNewFile(resolve(world.cwd, path), async () => textOf(await read()), { force });
  notice(`the checkpoint is in ${path}: copy it to another machine`);
}

// Actions verify and export of the command audit, which read all rows.

/** Maximum number of rows of a page of the service. */
const CHAIN_PAGE = 1_000;
/** Interval of progress messages, in rows. */
const PROGRESS = 100_000;
/** Maximum size of a checkpoint with its signatures, in bytes. */
const MAX_CHECKPOINT = 64 * 1024;

async function verifyAudit(run: CommandRun): Promise<void> {
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
      refuse(verifier.add(chainRowOf(event)));
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

async function exportAudit({ args, output, connectTo }: CommandRun): Promise<void> {
  const after = rowNumber(args.text("after") ?? "0");
  const client = await connectTo(AuditService);
  for await (const { events } of pages(client, after))
    for (const event of events) {
      await output.jsonLine(AuditEventSchema, event);
      if (output.isClosed) return;
    }
}

/** Parses the row number of `--after`. @throws CliFailure (usage). */
function rowNumber(after: string): bigint {
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
    const page = await client.listAuditEvents({ afterSequence, pageSize: CHAIN_PAGE, pageToken });
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

function chainRowOf({ sequence, time, transport, previousHash, ...event }: AuditEvent): AuditRow {
  return {
    ...event,
    transport,
    seq: Number(sequence),
    time: time === undefined ? Number.NaN : timestampMs(time),
    prev: previousHash,
  };
}
