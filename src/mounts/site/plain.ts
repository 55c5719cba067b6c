import type { DriverInfo } from "../../drivers/driver-info.ts";
import { plainMessage } from "../../sync/failure.ts";
import { itemKind } from "./item-kind.ts";
import { readAddition, type StorageRow, type WantedMount } from "./row.ts";

/** Source of the drivers' forms. */
interface Forms {
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

/** Statuses of a mount that works, is disabled, or is starting. */
const PLAIN_STATUSES = new Set(["work", "disabled", ""]);

/** The status of a row for people, without secrets. */
export function plainStatus(
  row: StorageRow,
  wanted: WantedMount | undefined,
  forms: Forms,
): string {
  const { status } = row;
  return PLAIN_STATUSES.has(status) ? status : plainMessage(status, secretsOf(wanted, row, forms));
}

/** Minimum length of a text that is a secret. */
const MIN_SECRET = 4;

/**
 * Texts that must not appear in messages: servers quote parts of the configuration. Values of items
 * that the driver's form does not have count as secrets, also within lists and objects.
 */
export function secretsOf(
  wanted: WantedMount | undefined,
  row: StorageRow | undefined,
  { driverOf }: Forms,
): string[] {
  const driver = wanted?.driver ?? row?.driver ?? "";
  const open = new Set(
    (driverOf(driver)?.additional ?? [])
      .filter(({ name, secret }) => !secret && itemKind(driver, name) === "declared")
      .map(({ name }) => name),
  );
  const addition = row === undefined ? {} : readAddition(row.addition);
  // Without its values, the text is the secret; one that is longer than a message hides all of it.
  if (row !== undefined && addition === undefined) return [row.addition, ...quotedIn(row.addition)];
  const values = [
    ...Object.entries(wanted?.items ?? {}),
    ...Object.entries(addition ?? {}),
  ].flatMap(([name, value]) => (open.has(name) ? [] : textsIn(value)));
  return [...new Set(values.filter(({ length }) => length >= MIN_SECRET))];
}

/** Maximum length of a configuration whose texts are read although it is no JSON object. */
const MAX_QUOTED = 65_536;

/** Texts in quotes. */
function quotedIn(text: string): string[] {
  if (text.length > MAX_QUOTED) return [];
  return Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"/g), ([, inner = ""]) => inner);
}

/** Maximum depth of lists and objects whose texts are read one by one. */
const MAX_DEPTH = 8;

/** Texts and numbers in a JSON value. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (value === null || typeof value !== "object" || depth === MAX_DEPTH) return [];
  return Object.values(value).flatMap((member) => textsIn(member, depth + 1));
}
