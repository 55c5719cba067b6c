// Settings as text for people.

import type { Setting } from "../../gen/mooring/v1/setting_pb.js";
import type { Output } from "./output.ts";
import { groupName } from "./setting-group.ts";

/** Prints settings for people, the value in the last column. */
export async function writeSettings(output: Output, settings: readonly Setting[]): Promise<void> {
  const columns = [
    { title: "KEY" },
    { title: "GROUP" },
    { title: "NOTE" },
    { title: "VALUE", flexible: true },
  ] as const;
  await output.table(
    columns,
    settings.map((setting) => [
      setting.key,
      groupName(setting.group),
      notesOf(setting).join(", "),
      setting.value,
    ]),
  );
}

const FLAG_NOTES: Readonly<Record<number, string>> = {
  0: "public",
  2: "readonly",
  3: "deprecated",
};

function notesOf({ flag, secret, managed }: Setting): string[] {
  return [FLAG_NOTES[flag] ?? "", secret ? "secret" : "", managed ? "managed" : ""].filter(
    (note) => note !== "",
  );
}
