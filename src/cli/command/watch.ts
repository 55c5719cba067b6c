import { timestampMs } from "@bufbuild/protobuf/wkt";
import {
  type WatchSettingsResponse,
  WatchSettingsResponseSchema,
} from "../../../gen/mooring/v1/setting_service_pb.js";
import { counted, localTime } from "../argument.ts";
import { changeLine } from "../change-table.ts";
import type { Command, CommandRun } from "../command.ts";
import { printEvents } from "../follow.ts";
import { printableLine } from "../output.ts";

export const watchCommand: Command = {
  name: "watch",
  usage: ["watch [KEY...] [--after ETAG]"],
  summary: "Print every change as it happens",
  details: [
    "Prints changes of all settings, or of the given keys. After a broken connection",
    "it connects again and prints all changes since. Ctrl-C ends it with exit code 0.",
    "With --json each event is one line: a snapshot, a change, or neither (progress).",
    "--after continues after the state of an event or of list --json, by its etag.",
  ],
  flags: ["after"],
  offline: false,
  positionals: [0, 1_000],
  run: async (run) => {
    const client = await run.connect();
    const keys = [...run.args.positionals];
    await printEvents<WatchSettingsResponse, string | undefined>(run, {
      from: run.args.text("after"),
      open: (after, options) =>
        client.watchSettings(
          { keys, ...(after === undefined ? {} : { afterEtag: after }) },
          options,
        ),
      positionOf: ({ etag }) => etag,
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
