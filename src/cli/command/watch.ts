import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { isBroken } from "../call-failure.ts";
import type { Command, CommandRun } from "../command.ts";
import { printableLine } from "../printable.ts";
import { counted, localTime, revisionNumber } from "../quantity.ts";
import { changeLine } from "../setting-table.ts";

/** How long to wait before the first new attempt, and at most, in milliseconds. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;

/** Failures that pass: the service restarts, the connection broke, or this reader was too slow. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.ResourceExhausted,
  Code.DeadlineExceeded,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
]);

export const watchCommand: Command = {
  name: "watch",
  usage: ["watch [KEY...] [--after REVISION]"],
  summary: "Print every change as it happens",
  details: [
    "All settings, or only the keys that are named. When the connection breaks it is",
    "made again, and no change in between is missed. Ctrl-C ends it with exit code 0.",
    "With --json each event is one line: a snapshot, a change, or neither (progress).",
  ],
  flags: ["after"],
  offline: false,
  positionals: [0, 1_000],
  run: async (run) => {
    const text = run.args.text("after");
    const after = text === undefined ? undefined : revisionNumber(text, "--after");
    const ended = new AbortController();
    const forget = run.world.onInterrupt(() => ended.abort());
    try {
      await follow(run, after, ended.signal);
    } finally {
      forget();
      ended.abort();
    }
  },
};

/** Reads until it is ended, over as many streams as that takes. */
async function follow(run: CommandRun, from: bigint | undefined, end: AbortSignal): Promise<void> {
  const client = await run.connect();
  const keys = [...run.args.positionals];
  let after = from;
  let seen = false;
  let pauses = 0;
  while (!end.aborted) {
    const request = after === undefined ? { keys } : { keys, afterRevision: after };
    try {
      for await (const event of client.watchSettings(request, { signal: end, timeoutMs: 0 })) {
        await writeEvent(run, event);
        after = event.revision;
        seen = true;
        pauses = 0;
      }
    } catch (error) {
      if (end.aborted) return;
      // Before the first event nothing has broken: it never worked.
      if (!(error instanceof ConnectError) || !seen) throw error;
      if (error.code === Code.OutOfRange) {
        run.notice(`${error.rawMessage}; beginning again with all settings`);
        after = undefined;
        seen = false;
        continue;
      }
      if (!PASSING.has(error.code) && !isBroken(error)) throw error;
      run.notice(`the connection broke (${error.rawMessage}); trying again`);
    }
    if (!end.aborted) await run.world.pause(pauseAfter(pauses++, run.world.random()), end);
  }
}

/** Twice as long each time, up to the longest; a random half keeps many watchers apart. */
function pauseAfter(attempt: number, random: number): number {
  const full = Math.min(FIRST_PAUSE * 2 ** Math.min(attempt, 10), LONGEST_PAUSE);
  return full / 2 + (full / 2) * random;
}

async function writeEvent(run: CommandRun, message: WatchSettingsResponse): Promise<void> {
  const { args, output } = run;
  if (args.is("json")) return output.jsonLine(WatchSettingsResponseSchema, message);
  const { revision, event } = message;
  if (event.case === "snapshot") {
    const snapshot = event.value;
    const values = args.positionals.length === 0 ? [] : snapshot.settings;
    await output.write(
      [
        `revision ${revision}: ${counted(snapshot.settings.length, "setting")}`,
        ...values.map(({ key, value }) => `  ${printableLine(`${key}: ${value}`)}`),
      ]
        .map((line) => `${line}\n`)
        .join(""),
    );
  }
  if (event.case !== "change") return;
  const change = event.value;
  const time = change.time === undefined ? "" : ` ${localTime(timestampMs(change.time))}`;
  const head = printableLine(`revision ${revision}:${time} by ${change.actor}`);
  const lines = change.changes.map((each) => `  ${changeLine(each)}\n`);
  await output.write(`${output.style("bold", head)}\n${lines.join("")}`);
}
