// The commands history and diff.

import { create } from "@bufbuild/protobuf";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { Revision } from "../../../gen/mooring/v1/setting_pb.js";
import {
  DiffRevisionsResponseSchema,
  GetRevisionResponseSchema,
  type ListRevisionsResponse,
  ListRevisionsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { type Arguments, count, localTime, pointInTime, revisionNumber } from "../argument.ts";
import { writeChanges } from "../change-table.ts";
import type { Command, CommandRun } from "../command.ts";
import type { SettingClient } from "../connection.ts";
import { usage } from "../failure.ts";
import { printableLine } from "../output.ts";

/** Maximum number of revisions of a page of the service. */
const PAGE = 1_000;
const DEFAULT_LIMIT = "20";
const MAX_LIMIT = 1_000_000;

export const historyCommand: Command = {
  name: "history",
  usage: [
    "history [--key KEY] [--actor NAME] [--since TIME] [--until TIME] [-n N]",
    "history [--site NAME] [--mount NAME]",
    "history REVISION",
  ],
  summary: "Print changes with time and author, newest first",
  details: [
    "With the number of a revision, prints its changes with old and new values. Values",
    "of secret settings are not stored. Times are in this machine's time zone, in JSON",
    "in UTC.",
  ],
  flags: ["key", "mount", "site", "actor", "since", "until", "limit"],
  offline: true,
  positionals: [0, 1],
  run: async (run) => {
    const [revision] = run.args.positionals;
    await (revision === undefined ? writeHistory(run) : writeRevision(run, revision));
  },
};

async function writeHistory({ args, output, world, connect, notice }: CommandRun): Promise<void> {
  const limit = count(args.text("limit") ?? DEFAULT_LIMIT, "--limit", MAX_LIMIT);
  const filter = readFilter(args, world.now());
  const reply = await readRevisions(await connect(), filter, limit);
  if (args.is("json")) return output.json(ListRevisionsResponseSchema, reply);
  if (reply.revisions.length === 0) return notice("the history has no matching change");
  await output.table(
    [
      { title: "REVISION" },
      { title: "TIME" },
      { title: "ACTOR" },
      { title: "BY" },
      { title: "KEYS", flexible: true },
      { title: "REASON", flexible: true },
    ],
    reply.revisions.map(rowOf),
  );
}

function readFilter(args: Arguments, now: number) {
  const time = (name: "since" | "until") => {
    const text = args.text(name);
    return text === undefined
      ? {}
      : { [name]: timestampFromMs(pointInTime(text, `--${name}`, now)) };
  };
  const mount = args.text("mount");
  if (mount !== undefined && args.has("key")) throw usage("--mount and --key are one filter");
  return {
    key: mount === undefined ? (args.text("key") ?? "") : `mount:${mount}`,
    site: args.text("site") ?? "",
    actor: args.text("actor") ?? "",
    ...time("since"),
    ...time("until"),
  };
}

/** Reads page by page until there are enough. */
async function readRevisions(
  client: SettingClient,
  filter: ReturnType<typeof readFilter>,
  limit: number,
): Promise<ListRevisionsResponse> {
  const result = create(ListRevisionsResponseSchema);
  do {
    const pageSize = Math.min(limit - result.revisions.length, PAGE);
    const page = await client.listRevisions({
      ...filter,
      pageSize,
      pageToken: result.nextPageToken,
    });
    result.revisions.push(...page.revisions);
    result.nextPageToken = page.nextPageToken;
    result.oldestRevision = page.oldestRevision;
  } while (result.nextPageToken !== "" && result.revisions.length < limit);
  return result;
}

function rowOf(revision: Revision): string[] {
  const { actor, keys, reason } = revision;
  return [
    String(revision.revision),
    timeOf(revision),
    actor,
    via(revision),
    keys.join(", "),
    reason,
  ];
}

function timeOf({ time }: Revision): string {
  return time === undefined ? "" : localTime(timestampMs(time));
}

function via({ transport, method }: Revision): string {
  return [transport, method].filter((part) => part !== "").join(" ");
}

async function writeRevision({ args, output, connect }: CommandRun, text: string): Promise<void> {
  const filters = ["key", "actor", "since", "until", "limit"] as const;
  const given = filters.find((name) => args.text(name) !== undefined);
  if (given !== undefined) throw usage(`--${given} applies to a list, not to one revision`);
  if (!/^\d/.test(text))
    throw usage("history takes the number of a revision; use --key KEY for a setting");
  const revision = revisionNumber(text, "the revision");
  const client = await connect();
  const reply = await client.getRevision({ revision });
  if (args.is("json")) return output.json(GetRevisionResponseSchema, reply);
  if (reply.revision !== undefined) await output.write(describe(reply.revision));
  await writeChanges(output, reply.changes);
}

function describe(revision: Revision): string {
  const { actor, peer, requestId, reason } = revision;
  const from = peer === "" ? "" : ` from ${peer}`;
  const request = requestId === "" ? "" : `, request ${requestId}`;
  const why = reason === "" ? "" : `, reason: ${reason}`;
  const text = `revision ${revision.revision}, ${timeOf(revision)}, by ${actor} (${via(revision)}${from}${request})${why}`;
  return `${printableLine(text)}\n`;
}

export const diffCommand: Command = {
  name: "diff",
  usage: ["diff FROM [TO]"],
  summary: "Print the differences between two revisions",
  details: [
    "FROM and TO are numbers of revisions; TO is the newest by default. FROM may be",
    "the later one. The exit code is 0 with or without differences.",
  ],
  flags: [],
  offline: true,
  positionals: [1, 2],
  run: async ({ args, output, connect, notice }) => {
    const [first = "", second] = args.positionals;
    const from = revisionNumber(first, "FROM");
    const to = second === undefined ? 0n : revisionNumber(second, "TO");
    const client = await connect();
    const reply = await client.diffRevisions({ from, to });
    if (args.is("json")) return output.json(DiffRevisionsResponseSchema, reply);
    if (reply.changes.length === 0) return notice("nothing differs");
    await writeChanges(output, reply.changes);
  },
};
