import type { SettingChange } from "../../gen/mooring/v1/setting_pb.js";
import type { Output } from "./output.ts";
import { printableLine } from "./printable.ts";

/** What stands for a setting that does not exist. */
const ABSENT = "–";

/** Prints changes for people: key, value before, value after. */
export async function writeChanges(
  output: Output,
  changes: readonly SettingChange[],
): Promise<void> {
  const columns = [
    { title: "KEY" },
    { title: "BEFORE", flexible: true },
    { title: "AFTER", flexible: true },
  ] as const;
  await output.table(
    columns,
    changes.map((change) => [change.key, before(change), after(change)]),
  );
}

/** One change as a line: `site_title: before → after`. */
export function changeLine(change: SettingChange): string {
  return printableLine(`${change.key}: ${before(change)} → ${after(change)}`);
}

function before({ oldValue }: SettingChange): string {
  return shown(oldValue);
}

function after(change: SettingChange): string {
  const { oldValue, newValue, secret } = change;
  const text = shown(newValue);
  if (oldValue !== newValue || newValue === undefined) return text;
  // The mask hides both values, or a custom setting has another definition.
  return secret ? `${text} (another)` : `${text} (defined otherwise)`;
}

function shown(value: string | undefined): string {
  if (value === undefined) return ABSENT;
  return value === "" ? '""' : value;
}
