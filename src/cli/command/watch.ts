import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { counted, localTime, revisionNumber } from "../argument.ts";
import type { Command, CommandRun } from "../command.ts";
import { printEvents } from "../follow.ts";
import { printableLine } from "../output.ts";
import { changeLine } from "../setting-table.ts";

/** The beginning of a stream: a revision of the user, or the state of the last event. */
type Position = { readonly afterRevision?: bigint } | { readonly afterEtag: string };

export const watchCommand: Command = {
  name: "watch",
  usage: ["watch [KEY...] [--after REVISION]"],
  summary: "Print every change as it happens",
  details: [
    "Prints changes of all settings, or of the given keys. After a broken connection",
    "it connects again and prints all changes since. Ctrl-C ends it with exit code 0.",
    "With --json each event is one line: a snapshot, a change, or neither (progress).",
  ],
  flags: ["after"],
  offline: false,
  positionals: [0, 1_000],
  run: async (run) => {
    const text = run.args.text("after");
    const after = text === undefined ? undefined : revisionNumber(text, "--after");
    const client = await run.connect();
    const keys = [...run.args.positionals];
    await printEvents<WatchSettingsResponse, Position>(run, {
      from: after === undefined ? {} : { afterRevision: after },
      open: (position, options) => client.watchSettings({ keys, ...position }, options),
      // An older service sends no etag.
      positionOf: ({ etag, revision }) =>
        etag === "" ? { afterRevision: revision } : { afterEtag: etag },
      write: (event) => writeEvent(run, event),
      restart: async () => ({ from: undefined, notice: "beginning again with all settings" }),
    });
  },
};

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
