// Last days of sites and mounts as text for people.

import type { Day, DayStrip, IncidentSubject } from "../../gen/mooring/v1/incident_pb.js";
import { IncidentService } from "../../gen/mooring/v1/incident_service_pb.js";
import type { CommandRun } from "./command.ts";
import { usage } from "./failure.ts";
import type { Output } from "./output.ts";
import { readPages } from "./pages.ts";
import type { World } from "./world.ts";

/** Character of each kind of day: the higher its line, the longer the mount failed. */
interface Characters {
  readonly worked: string;
  readonly partly: string;
  readonly failed: string;
  readonly unmonitored: string;
}

const BLOCKS: Characters = { worked: "▁", partly: "▄", failed: "█", unmonitored: "·" };
/** For pipes, and for terminals without UTF-8. */
const ASCII: Characters = { worked: "_", partly: "+", failed: "#", unmonitored: "." };

function charactersFor(output: Output, { env }: Pick<World, "env">): Characters {
  const locale = env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "";
  return output.isTerminal && /utf-?8/i.test(locale) ? BLOCKS : ASCII;
}

/** @throws CliFailure (usage) for `--days` with `--json`: the reply has no days. */
export function checkDays({ args }: Pick<CommandRun, "args">): void {
  if (args.is("days") && args.is("json"))
    throw usage('--days prints text: "mooring incident days --json" has the numbers');
}

/** Reads strips page by page. @param limit maximum number of strips. Default: all. */
export async function readStrips(
  { connectTo }: Pick<CommandRun, "connectTo">,
  filter: {
    readonly site?: string;
    readonly mountPath?: string;
    readonly subject?: IncidentSubject;
    readonly failed?: boolean;
  },
  limit = Number.POSITIVE_INFINITY,
): Promise<{ readonly items: readonly DayStrip[]; readonly next: string }> {
  const client = await connectTo(IncidentService);
  return readPages(limit, async (page) => {
    const { strips, nextPageToken } = await client.listDays({ ...filter, ...page });
    return { items: strips, next: nextPageToken };
  });
}

/** A strip as one character a day; empty for undefined: no day was counted yet. */
export function stripText(
  { output, world }: Pick<CommandRun, "output" | "world">,
  strip: DayStrip | undefined,
): string {
  const characters = charactersFor(output, world);
  return (strip?.days ?? []).map((day) => characters[kindOf(day)]).join("");
}

function kindOf({ workedSeconds, failedSeconds }: Day): keyof Characters {
  if (failedSeconds > 0) return workedSeconds > 0 ? "partly" : "failed";
  return workedSeconds > 0 ? "worked" : "unmonitored";
}

/** Meaning of the characters. */
export function legend({ output, world }: Pick<CommandRun, "output" | "world">): string {
  const { worked, partly, failed, unmonitored } = charactersFor(output, world);
  return `${worked} worked, ${partly} failed for a part, ${failed} failed, ${unmonitored} not monitored; days in UTC, today last`;
}

/** Prints strips, a line each. */
export async function writeStrips(
  run: Pick<CommandRun, "output" | "world">,
  strips: readonly DayStrip[],
): Promise<void> {
  await run.output.table(
    [
      { title: "SITE" },
      { title: "MOUNT", flexible: true },
      { title: "LAST 30 DAYS" },
      { title: "FAILED" },
      { title: "LAST FAILURE", flexible: true },
    ],
    strips.map((strip) => {
      const last = strip.days.findLast(({ failedSeconds }) => failedSeconds > 0);
      const failed = strip.days.reduce((sum, { failedSeconds }) => sum + failedSeconds, 0);
      return [
        strip.site,
        strip.mountPath,
        stripText(run, strip),
        failed === 0 ? "" : durationText(failed),
        last === undefined ? "" : `${last.date}: ${last.reason}`,
      ];
    }),
  );
}

/** Time such as `2 d 3 h`, `5 h 10 min` or `less than 1 min`. */
export function durationText(seconds: number): string {
  const minutes = Math.floor(seconds / 60);
  const parts = [
    { count: Math.floor(minutes / 1_440), unit: "d" },
    { count: Math.floor(minutes / 60) % 24, unit: "h" },
    { count: minutes % 60, unit: "min" },
  ];
  const first = parts.findIndex(({ count }) => count > 0);
  if (first < 0) return "less than 1 min";
  return parts
    .slice(first, first + 2)
    .filter(({ count }) => count > 0)
    .map(({ count, unit }) => `${count} ${unit}`)
    .join(" ");
}
