// The command audit: its actions are in the files beside this one.

import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import {
  AuditService,
  GetCheckpointResponseSchema,
  ListAuditEventsResponseSchema,
  WatchAuditResponseSchema,
} from "../../../gen/mooring/v1/audit_service_pb.js";
import { type Action, runAction } from "../action.ts";
import type { FlagName } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { usage } from "../failure.ts";
import { writeNewFile } from "../file.ts";
import { printEvents } from "../follow.ts";
import { printableLine } from "../printable.ts";
import { count, localTime, pointInTime } from "../quantity.ts";
import { exportAudit, rowNumber, verifyAudit } from "./audit-chain.ts";

/** Maximum number of rows of a page of the service. */
const PAGE = 1_000;
const DEFAULT_LIMIT = "20";
const MAX_LIMIT = 1_000_000;

const filters = [
  ...["actor", "token-id", "method", "outcome", "subject", "since", "until", "limit"],
] as const satisfies readonly FlagName[];

/** Filters that following does not support. */
const following = [
  ...["follow", "after", "actor", "token-id", "method", "outcome", "subject"],
] as const satisfies readonly FlagName[];

const actions: Readonly<Record<string, Action>> = {
  list: { count: 0, flags: [...filters, "follow", "after"], act: listOrFollow },
  verify: { count: 0, flags: ["checkpoint"], act: verifyAudit },
  export: { count: 0, flags: ["after"], act: exportAudit },
  checkpoint: { count: 0, flags: ["output", "force"], act: writeCheckpoint },
};

export const auditCommand: Command = {
  name: "audit",
  usage: [
    "audit list [--actor NAME] [--token-id ID] [--method RPCS] [--outcome CODES] [--subject GLOB] [--since TIME] [--until TIME] [-n N]",
    "audit list --follow [--after ROW] [--actor NAME] [--token-id ID] [--method RPCS] [--outcome CODES] [--subject GLOB]",
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
  run: (run) => runAction("audit", actions, { run, flags: auditCommand.flags }),
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
    methods: listOf(args.text("method")),
    outcomes: listOf(args.text("outcome")),
    subject: args.text("subject") ?? "",
  };
}

async function followAudit(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(AuditService);
  const filter = filterOf(run);
  const text = args.text("after");
  await printEvents(run, {
    from: text === undefined ? undefined : rowNumber(text),
    open: (afterSequence, options) =>
      client.watchAudit(
        afterSequence === undefined ? filter : { ...filter, afterSequence },
        options,
      ),
    positionOf: ({ sequence }) => sequence,
    write: async (message) => {
      if (args.is("json")) return output.jsonLine(WatchAuditResponseSchema, message);
      const lines = message.events.map((event) => printableLine(rowOf(event).join("  ")));
      if (lines.length > 0) await output.write(`${lines.join("\n")}\n`);
    },
    restart: async (options) => {
      const { oldestSequence } = await client.getCheckpoint({}, options);
      const from = oldestSequence > 0n ? oldestSequence - 1n : 0n;
      return { from, notice: `resuming with row ${from + 1n}` };
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
      ...{ ...filter, pageSize, pageToken: reply.nextPageToken },
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

function rowOf({ sequence, time, actor, door, method, outcome, subjects, detail }: AuditEvent) {
  return [
    String(sequence),
    time === undefined ? "" : localTime(timestampMs(time)),
    actor,
    [door, method].filter((part) => part !== "").join(" "),
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

function listOf(text: string | undefined): string[] {
  return (text ?? "").split(",").filter((part) => part !== "");
}
