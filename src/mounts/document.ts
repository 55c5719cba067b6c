import type { DriverInfo } from "../drivers/driver-info.ts";
import { invalid } from "../messages/error.ts";
import { message, type Text } from "../messages/message.ts";
import { createTicks } from "../ticks.ts";
import { isSecretItem, type MountInput } from "./input.ts";
import type { Mount, Values } from "./mount.ts";
import { itemKind } from "./site/item-kind.ts";
import {
  cleanPath,
  isStorageRow,
  newRow,
  readAddition,
  type StorageRow,
  type WantedMount,
} from "./site/row.ts";
import { freeName, readMount } from "./site/take.ts";

/** Maximum number of rows of a document. */
const MAX_ROWS = 5_000;

/** Row of a document: a mount to be saved, or the reason for which it is skipped. */
export type ReadRow =
  | { readonly path: string; readonly input: MountInput }
  | { readonly path: string; readonly reason: Text };

/**
 * Reads the storages of an OpenList or AList backup (`storages`), the reply of `storage/list`
 * (`data`, `content`), or a bare list of rows (`storages.json`), whose addition may be an object.
 *
 * A row with the path of an existing mount becomes a change of that mount.
 *
 * @returns undefined for another format.
 * @throws INVALID_ARGUMENT for no row or too many.
 */
export async function readDocument(
  document: unknown,
  options: {
    readonly mounts: ReadonlyMap<string, Mount>;
    readonly driverOf: (name: string) => DriverInfo | undefined;
    /** Sites of new mounts; empty: all. Existing mounts keep theirs. */
    readonly sites: readonly string[];
  },
): Promise<readonly ReadRow[] | undefined> {
  const rows = rowsOf(document);
  if (rows === undefined) return undefined;
  if (rows.length === 0)
    throw invalid([{ field: "document", description: message("DOCUMENT_EMPTY") }]);
  if (rows.length > MAX_ROWS)
    throw invalid([
      { field: "document", description: message("DOCUMENT_TOO_LONG", { most: MAX_ROWS }) },
    ]);
  const ticks = createTicks();
  const taken = new Set(options.mounts.keys());
  const byPath = new Map([...options.mounts.values()].map((mount) => [mount.path, mount]));
  const read = (given: unknown, at: number): ReadRow => {
    const row = completeRow(given, at + 1);
    if (row === undefined) return { path: `row ${at + 1}`, reason: message("NOT_A_ROW") };
    const path = cleanPath(row.mount_path);
    const found = readMount(row, options.driverOf(row.driver));
    if (found === undefined)
      return {
        path,
        reason: message("ADDITION_NOT_JSON"),
      };
    const before = byPath.get(path);
    const isSame = before !== undefined && before.driver === found.driver;
    if (before !== undefined && !isSame)
      return { path, reason: message("PATH_WITH_OTHER_DRIVER", { name: before.name }) };
    const form = options.driverOf(found.driver);
    const input: MountInput = {
      name: before?.name ?? freeName(path, taken),
      path,
      driver: found.driver,
      // Items refreshed by the server are newer than the backup.
      config: before === undefined ? found.items : declared(found.driver, found.items),
      members: found.members,
      disabled: found.disabled,
      ...(before === undefined && {
        sites: options.sites,
        lost: namesOf(row["missing"]).filter(
          (name) =>
            !Object.hasOwn(found.items, name) &&
            form?.additional.some((item) => item.name === name) === true &&
            isSecretItem(form, name),
        ),
      }),
    };
    return { path, input };
  };
  const all: ReadRow[] = [];
  for (const [at, given] of rows.entries()) {
    if (ticks.isDue()) await ticks.next();
    all.push(read(given, at));
  }
  return all;
}

/** Names in the member `missing` of an exported row. */
function namesOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

function declared(driver: string, items: Values): Values {
  return Object.fromEntries(
    Object.entries(items).filter(([item]) => itemKind(driver, item) !== "learned"),
  );
}

function rowsOf(document: unknown): readonly unknown[] | undefined {
  if (Array.isArray(document)) return document;
  if (document === null || typeof document !== "object") return undefined;
  const { storages, content, data } = document as Record<string, unknown>;
  return rowsOf(storages ?? content ?? data);
}

/** Completes a row with members that some tools omit. */
function completeRow(given: unknown, id: number): StorageRow | undefined {
  if (given === null || typeof given !== "object") return undefined;
  const { addition = "{}", ...rest } = given as { readonly addition?: unknown };
  const row: Record<string, unknown> = { status: "work", disabled: false, ...rest, id };
  row["addition"] = typeof addition === "string" ? addition : JSON.stringify(addition);
  return isStorageRow(row) ? row : undefined;
}

/**
 * Creates rows in the servers' format, without `id`, `status` and `modified`, for import here and
 * on a server's backup page. `missing` lists items whose values are omitted; servers ignore this
 * member.
 *
 * @param hides whether an item is left out.
 */
export function writeDocument(
  mounts: readonly WantedMount[],
  driverOf: (name: string) => DriverInfo | undefined,
  hides: (driver: string, item: string) => boolean,
): { readonly storages: readonly Record<string, unknown>[] } {
  return {
    storages: mounts.map((mount) => {
      const row = newRow(mount, driverOf(mount.driver));
      const addition = Object.fromEntries(
        Object.entries(readAddition(String(row["addition"])) ?? {}).filter(
          ([item]) => !hides(mount.driver, item),
        ),
      );
      const hidden = Object.entries(mount.items).flatMap(([item, value]) =>
        value !== "" && hides(mount.driver, item) ? [item] : [],
      );
      const missing = [...new Set([...hidden, ...mount.missing])];
      return {
        ...row,
        addition: JSON.stringify(addition),
        disabled: mount.disabled,
        ...(missing.length > 0 && { missing }),
      };
    }),
  };
}
