// Settings and their changes as text for people.

import type { ItemChange } from "../../gen/mooring/v1/history_pb.js";
import {
  ChangeKind,
  type PendingSite,
  type Setting,
  type SettingChange,
  type SettingChanges,
} from "../../gen/mooring/v1/setting_pb.js";
import { quote } from "../config/complaint.ts";
import { nameList } from "../config/value.ts";
import { suggestion } from "../suggestion.ts";
import { counted } from "./argument.ts";
import { usage } from "./failure.ts";
import { type Output, printableLine } from "./output.ts";

/** Names of the groups by their numbers (docs/rest-contract.md, section 2.4, and the groups added since). */
const GROUPS = [
  "single",
  "site",
  "style",
  "preview",
  "global",
  "download",
  "index",
  "sso",
  "ldap",
  "s3",
  "ftp",
  "traffic",
] as const;

/** Name of a group, or its number if it has no name: custom settings may use any number. */
function groupName(group: number): string {
  return GROUPS[group] ?? String(group);
}

/** Parses numbers and names of groups, separated by commas. @throws CliFailure (usage). */
export function readGroups(text: string): number[] {
  const parsed = nameList(text, { cwd: "/", parallelism: 1 });
  if ("complaint" in parsed) throw usage(`--group ${quote(text)} ${parsed.complaint}`);
  return parsed.value.map(readGroup);
}

function readGroup(text: string): number {
  if (/^-?\d{1,10}$/.test(text) && Math.abs(Number(text)) < 2 ** 31) return Number(text);
  const at = (GROUPS as readonly string[]).indexOf(text.toLowerCase());
  if (at !== -1) return at;
  throw usage(
    `there is no group ${quote(text)}${suggestion(text, GROUPS, ".")} All: ${GROUPS.join(", ")}`,
  );
}

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

/** Shown for a setting that does not exist. */
const ABSENT = "–";

/** Change as it is shown: of a setting, or of a record with several items. */
type ShownChange = Pick<SettingChange, "key" | "kind" | "oldValue" | "newValue" | "secret"> & {
  readonly items?: readonly ItemChange[];
};

/** Prints changes for people: key, value before, value after; the items of a mount below its key. */
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
      const isOne = change.oldValue !== undefined || change.newValue !== undefined;
      const words = isOne ? [before(change), after(change)] : WORDS[change.kind];
      return [[change.key, ...words], ...rows];
    }),
  );
}

/** States of a record with several items before and after a change. */
const WORDS: Readonly<Record<ChangeKind, readonly [string, string]>> = {
  [ChangeKind.UNSPECIFIED]: ["", ""],
  [ChangeKind.ADDED]: ["–", "added"],
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

/** Result of a save or its dry run. */
export interface Saved {
  readonly revision: bigint;
  readonly preview?: SettingChanges | undefined;
  readonly dryRun: boolean;
  /** The previous revision, if it is known. */
  readonly before?: bigint | undefined;
}

/** Writes the result of a save, or of its dry run. */
export async function writeSaved(output: Output, saved: Saved): Promise<void> {
  const { revision, preview, dryRun, before } = saved;
  if (!dryRun) {
    const text = before === revision ? "no changes:" : "saved:";
    return output.write(`${text} revision ${revision}\n`);
  }
  const changes = preview?.changes ?? [];
  if (changes.length > 0) await writeChanges(output, changes);
  await output.write(`dry run: ${counted(changes.length, "setting")} would change\n`);
}

/** Names sites that follow and do not get a change now. */
export function noticePending(
  { notice }: { notice(text: string): void },
  sites: readonly PendingSite[],
): void {
  for (const { site, reason } of sites)
    notice(printableLine(`${site} does not have it yet: ${reason}`));
}
