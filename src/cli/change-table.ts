// Changes of settings and other records as text for people.

import type { ItemChange } from "../../gen/mooring/v1/history_pb.js";
import { ChangeKind, type SettingChange } from "../../gen/mooring/v1/setting_pb.js";
import { type Output, printableLine } from "./output.ts";

/** Shown for a value that does not exist. */
const ABSENT = "–";

/** Change of a setting, or of a record with several items. */
type ShownChange = Pick<SettingChange, "key" | "kind" | "oldValue" | "newValue" | "secret"> & {
  readonly items?: readonly ItemChange[];
};

/** Prints changes for people: key, value before, value after; the items of a record below its key. */
export async function writeChanges(output: Output, changes: readonly ShownChange[]): Promise<void> {
  const columns = [
    { title: "KEY" },
    { title: "BEFORE", flexible: true },
    { title: "AFTER", flexible: true },
  ] as const;
  await output.table(
    columns,
    changes.flatMap(({ items = [], ...change }) => {
      const rows = items.map((item) => [`  ${item.name}`, before(item), after(item)]);
      const isSetting = change.oldValue !== undefined || change.newValue !== undefined;
      const cells = isSetting ? [before(change), after(change)] : RECORD_CELLS[change.kind];
      return [[change.key, ...cells], ...rows];
    }),
  );
}

/** A record with several items before and after a change. */
const RECORD_CELLS: Readonly<Record<ChangeKind, readonly [string, string]>> = {
  [ChangeKind.UNSPECIFIED]: ["", ""],
  [ChangeKind.ADDED]: [ABSENT, "added"],
  [ChangeKind.CHANGED]: ["", "changed"],
  [ChangeKind.DELETED]: ["", "deleted"],
};

/** Formats one change as `site_title: before → after`. */
export function changeLine(change: SettingChange): string {
  return printableLine(`${change.key}: ${before(change)} → ${after(change)}`);
}

type ShownValues = Pick<SettingChange, "oldValue" | "newValue" | "secret">;

function before({ oldValue }: Pick<ShownValues, "oldValue">): string {
  return shown(oldValue);
}

function after({ oldValue, newValue, secret }: ShownValues): string {
  const text = shown(newValue);
  if (oldValue !== newValue || newValue === undefined) return text;
  // Equal texts: a mask hides both values, or the definition of a custom setting changed.
  return secret ? `${text} (another)` : `${text} (other definition)`;
}

function shown(value: string | undefined): string {
  if (value === undefined) return ABSENT;
  return value === "" ? '""' : value;
}
