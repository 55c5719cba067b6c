import { create } from "@bufbuild/protobuf";
import {
  AcknowledgeIncidentResponseSchema,
  GetIncidentResponseSchema,
  type IncidentCoverage,
  IncidentService,
  ListDaysResponseSchema,
  ListIncidentsResponseSchema,
  WatchIncidentsResponseSchema,
} from "../../../gen/mooring/v1/incident_service_pb.js";
import type { FlagName } from "../argument.ts";
import { type Action, type Command, type CommandRun, runAction } from "../command.ts";
import { legend, readStrips, writeStrips } from "../day-strip.ts";
import { printEvents } from "../follow.ts";
import { writeIncident, writeIncidents } from "../incident-text.ts";
import { printableLine } from "../output.ts";
import { limitOf, readPages } from "../pages.ts";

const flags: readonly FlagName[] = ["all", "comment", "date", "failed", "limit", "site"];

const actions: Readonly<Record<string, Action>> = {
  list: { count: 0, flags: ["all", "date", "limit", "site"], instead: "--site NAME", act: list },
  days: { count: 0, flags: ["failed", "limit", "site"], instead: "--site NAME", act: days },
  show: { count: 1, flags: [], act: show },
  ack: { count: 1, flags: ["comment"], instead: "--comment TEXT", act: acknowledge },
  watch: { count: 0, flags: [], act: watch },
};

export const incidentCommand: Command = {
  name: "incident",
  actions,
  usage: [
    "incident list [--site NAME] [--all] [--date DATE] [-n N]",
    "incident days [--site NAME] [--failed] [-n N]",
    "incident show ID",
    "incident ack ID [--comment TEXT]",
    "incident watch",
  ],
  summary: "Show failing mounts, sites, tokens and backups, with remedies",
  details: [
    "An incident opens when a mount, a site or a backup fails, or a token expires, and",
    "closes when it works again. list prints open incidents, with --all also closed",
    "ones, with --date those of a day in UTC, such as 2026-11-26. days prints the last",
    "30 days of sites and mounts. show prints one incident with its remedy. ack",
    "acknowledges it. watch prints each change until Ctrl-C.",
  ],
  flags,
  offline: false,
  positionals: [1, 2],
  run: (run) => runAction(incidentCommand, run),
};

async function list(run: CommandRun): Promise<void> {
  const { args, output, connectTo, notice } = run;
  const client = await connectTo(IncidentService);
  const date = args.text("date") ?? "";
  const filter = { site: args.text("site") ?? "", closed: args.is("all"), date };
  let coverage: IncidentCoverage | undefined;
  const { items, next } = await readPages(limitOf(run), async (page) => {
    const reply = await client.listIncidents({ ...filter, ...page });
    coverage ??= reply.coverage;
    return { items: reply.incidents, next: reply.nextPageToken };
  });
  if (args.is("json"))
    return output.json(
      ListIncidentsResponseSchema,
      create(ListIncidentsResponseSchema, {
        incidents: items,
        nextPageToken: next,
        ...(coverage && { coverage }),
      }),
    );
  if (items.length > 0) await writeIncidents(output, items);
  if (date !== "" && items.length === 0) notice(`no incident was open on ${printableLine(date)}`);
  else if (coverage !== undefined && coverage.text !== "") notice(printableLine(coverage.text));
}

async function days(run: CommandRun): Promise<void> {
  const { args, output, notice } = run;
  const filter = { site: args.text("site") ?? "", failed: args.is("failed") };
  const { items, next } = await readStrips(run, filter, limitOf(run));
  if (args.is("json"))
    return output.json(
      ListDaysResponseSchema,
      create(ListDaysResponseSchema, { strips: [...items], nextPageToken: next }),
    );
  if (items.length === 0)
    return notice(
      args.is("failed") ? "nothing has failed in the last 30 days" : "there are no sites yet",
    );
  await writeStrips(run, items);
  notice(legend(run));
}

async function show(
  { args, output, connectTo }: CommandRun,
  [id = ""]: readonly string[],
): Promise<void> {
  const reply = await (await connectTo(IncidentService)).getIncident({ id });
  if (args.is("json")) return output.json(GetIncidentResponseSchema, reply);
  if (reply.incident !== undefined) await writeIncident(output, reply.incident);
}

async function acknowledge(
  { args, output, connectTo }: CommandRun,
  [id = ""]: readonly string[],
): Promise<void> {
  const note = args.text("comment") ?? "";
  const reply = await (await connectTo(IncidentService)).acknowledgeIncident({ id, note });
  if (args.is("json")) return output.json(AcknowledgeIncidentResponseSchema, reply);
  if (reply.incident !== undefined) await writeIncident(output, reply.incident);
}

async function watch(run: CommandRun): Promise<void> {
  const { args, output, connectTo } = run;
  const client = await connectTo(IncidentService);
  await printEvents(run, {
    // Each stream begins with all open incidents.
    open: (_after, options) => client.watchIncidents({}, options),
    write: async (event) => {
      if (args.is("json")) return output.jsonLine(WatchIncidentsResponseSchema, event);
      if (event.incidents.length > 0) await writeIncidents(output, event.incidents);
    },
  });
}
