import { createHash } from "node:crypto";
import { didYouMean } from "../messages/nearest.ts";
import type { DriverInfo } from "./driver-info.ts";

/** Drivers of a deployment at one time. Immutable: a change creates a new catalogue. */
export interface Catalogue {
  /** In code point order. */
  readonly names: readonly string[];
  /** Name to driver, in the same order. */
  readonly drivers: ReadonlyMap<string, DriverInfo>;
  /** 16 hexadecimal digits of a hash of the content. */
  readonly revision: string;
  /** Driver of an exact, case-sensitive name. The same object until the driver changes. */
  readonly get: (name: string) => DriverInfo | undefined;
}

/** Reason for which a catalogue can't be created, for the operator. */
export class CatalogueError extends Error {
  override readonly name = "CatalogueError";
}

/**
 * @param parts.definitions - in ascending precedence: the later one of two drivers of one name
 *   counts.
 * @param parts.enabled - the only names to offer; undefined: all.
 * @throws CatalogueError when `enabled` has a name that no driver has, or is an empty list.
 */
export function createCatalogue(parts: {
  definitions: Iterable<DriverInfo>;
  enabled?: readonly string[] | undefined;
}): Catalogue {
  const all = new Map<string, DriverInfo>();
  for (const driver of parts.definitions) all.set(driver.config.name, driver);
  const names = Object.freeze(inCodePointOrder(narrow([...all.keys()], parts.enabled)));
  const drivers = new Map<string, DriverInfo>();
  for (const name of names) {
    const driver = all.get(name);
    if (driver !== undefined) drivers.set(name, driver);
  }
  return Object.freeze({
    names,
    drivers,
    revision: revisionOf(drivers),
    get: (name: string) => drivers.get(name),
  });
}

function narrow(names: string[], enabled: readonly string[] | undefined): string[] {
  if (enabled === undefined) return names;
  if (enabled.length === 0) throw new CatalogueError("the list of enabled drivers is empty");
  const known = new Set(names);
  const unknown = [...new Set(enabled)].filter((name) => !known.has(name));
  if (unknown.length === 0) return [...new Set(enabled)];
  const sentences = unknown
    .slice(0, 10)
    .map(
      (name) =>
        `there is no driver ${JSON.stringify(name.slice(0, 64))}.${didYouMean(name, names)}`,
    );
  throw new CatalogueError(`MOORING_DRIVERS_ENABLED: ${sentences.join(" ")}`);
}

/** UTF-8 bytes sort like code points; JavaScript sorts by UTF-16 units. */
function inCodePointOrder(names: string[]): string[] {
  return names
    .map((name) => ({ name, bytes: Buffer.from(name) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ name }) => name);
}

/** Every part has its members in one order, so its JSON text is canonical. */
function revisionOf(drivers: ReadonlyMap<string, DriverInfo>): string {
  const hash = createHash("sha256");
  for (const driver of drivers.values()) hash.update(JSON.stringify(driver)).update("\n");
  return hash.digest("hex").slice(0, 16);
}

/** Driver names, each list in code point order. */
export interface CatalogueDifference {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}

/** Drivers that a client with `before` has to read or delete to update to `after`. */
export function diffCatalogues(before: Catalogue, after: Catalogue): CatalogueDifference {
  return {
    added: after.names.filter((name) => !before.drivers.has(name)),
    changed: after.names.filter((name) => before.drivers.has(name) && differs(name, before, after)),
    removed: before.names.filter((name) => !after.drivers.has(name)),
  };
}

function differs(name: string, before: Catalogue, after: Catalogue): boolean {
  const [old, current] = [before.get(name), after.get(name)];
  // Unchanged drivers are the same objects; those that were read again are compared as text.
  return old !== current && JSON.stringify(old) !== JSON.stringify(current);
}
