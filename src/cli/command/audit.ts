// The command audit: its actions are in the files beside this one.

import { resolve } from "node:path";
import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { AuditEvent } from "../../../gen/mooring/v1/audit_pb.js";
import {
  AuditService,
  GetCheckpointResponseSchema,
  ListAuditEventsResponseSchema,
} from "../../../gen/mooring/v1/audit_service_pb.js";
import { nearestName, quote } from "../../config/complaint.ts";
import type { FlagName } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { usage } from "../failure.ts";
import { writeNewFile } from "../file.ts";
import { count, localTime, pointInTime } from "../quantity.ts";
import { exportAudit, verifyAudit } from "./audit-chain.ts";

/** Rows of one page of the service at most. */
const PAGE = 1_000;
const DEFAULT_LIMIT = "20";
const MAX_LIMIT = 1_000_000;

interface Action {
  readonly run: (run: CommandRun) => Promise<void>;
  /** Its flags. */
  readonly flags: readonly FlagName[];
}

const filters = [
  ...["actor", "token-id", "method", "outcome", "subject", "since", "until", "limit"],
] as const satisfies readonly FlagName[];

const actions: Readonly<Record<string, Action>> = {
  list: { run: listAudit, flags: filters },
  verify: { run: verifyAudit, flags: ["checkpoint"] },
  export: { run: exportAudit, flags: ["after"] },
  checkpoint: { run: writeCheckpoint, flags: ["output", "force"] },
};

export const auditCommand: Command = {
  name: "audit",
  usage: [
    "audit list [--actor NAME] [--token-id ID] [--method RPCS] [--outcome CODES] [--subject GLOB] [--since TIME] [--until TIME] [-n N]",
    "audit verify [--checkpoint PATH]",
    "audit export [--after ROW]",
    "audit checkpoint [--output PATH] [--force]",
  ],
  summary: "Print who did what, and prove that nothing of it was changed",
  details: [
    "verify reads all rows that are kept and names the first one that does not fit.",
    "A checkpoint says where the audit stands; kept elsewhere it shows later whether",
    "rows up to it were changed or removed. export prints a JSON object a line, the",
    "oldest row first, with everything that the hashes are of.",
  ],
  flags: [...filters, "checkpoint", "after", "output", "force"],
  offline: true,
  positionals: [1, 1],
  run: async (run) => {
    const [name = ""] = run.args.positionals;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (action === undefined)
      throw usage(
        `there is no audit ${quote(name)}: did you mean audit ${nearestName(name, Object.keys(actions))}?`,
      );
    const other = auditCommand.flags.find(
      (flag) => run.args.has(flag) && !action.flags.includes(flag),
    );
    if (other !== undefined) throw usage(`--${other} does not go with audit ${name}`);
    await action.run(run);
  },
};

async function listAudit({ args, output, world, connectTo, notice }: CommandRun): Promise<void> {
  const limit = count(args.text("limit") ?? DEFAULT_LIMIT, "--limit", MAX_LIMIT);
  const time = (name: "since" | "until") => {
    const text = args.text(name);
    if (text === undefined) return {};
    return { [name]: timestampFromMs(pointInTime(text, `--${name}`, world.now())) };
  };
  const filter = {
    actor: args.text("actor") ?? "",
    tokenId: args.text("token-id") ?? "",
    methods: listOf(args.text("method")),
    outcomes: listOf(args.text("outcome")),
    subject: args.text("subject") ?? "",
    ...{ ...time("since"), ...time("until") },
  };
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
  if (reply.events.length === 0) return notice("no such row is in the audit");
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
  notice(`the checkpoint is in ${path}: keep it where nobody who can change the database can`);
}

function listOf(text: string | undefined): string[] {
  return (text ?? "").split(",").filter((part) => part !== "");
}
