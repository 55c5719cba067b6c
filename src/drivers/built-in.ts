import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Offer } from "../config/family.ts";
import { memoize } from "../memoize.ts";
import { readLabels } from "../messages/label.ts";
import { createDriverReader, type DriverReader } from "./definition.ts";
import type { DriverInfo } from "./driver-info.ts";
import { DriverFileError, type Problem, type SourceText, wholeFile } from "./problem.ts";

/** Drivers of the program, and the reader for driver files of a deployment. */
export interface BuiltIn {
  readonly reader: DriverReader;
  readonly drivers: readonly DriverInfo[];
}

/** The program's own drivers of a family, which a process reads once. */
export const builtInOf = memoize((offer: Offer): BuiltIn => readBuiltIn({ offer }));

const DATA = join(import.meta.dirname, "../data");

/**
 * Reads the program's own data files. Synchronous: the program cannot start without them.
 *
 * @param options.directory - contains `drivers/*.json`, `shared-items.json` and
 *   `common-items.json`.
 * @param options.offer - family whose drivers are read; default: openlist.
 * @param options.trusted - see SourceText; false in tests.
 * @throws DriverFileError with the problems of all files at once.
 */
export function readBuiltIn({
  directory = DATA,
  trusted = true,
  offer = "openlist",
}: {
  directory?: string;
  trusted?: boolean;
  offer?: Offer;
} = {}): BuiltIn {
  const shown = relative(process.cwd(), directory) || ".";
  const source = (path: string): SourceText => ({
    file: `${shown}/${path}`,
    text: readFileSync(`${directory}/${path}`, "utf8"),
    trusted,
    checked: trusted,
  });
  const reader = createDriverReader({
    shared: source("shared-items.json"),
    common: source("common-items.json"),
    labels: readLabels(),
    offer,
  });
  const files = readdirSync(join(directory, "drivers")).filter((file) => file.endsWith(".json"));
  const sources = files.sort().map((file) => source(`drivers/${file}`));
  return { reader, drivers: readAll(sources, reader) };
}

/**
 * Reads several files, which must all be valid and have different driver names.
 *
 * @throws DriverFileError with the problems of all of them.
 */
export function readAll(sources: readonly SourceText[], reader: DriverReader): DriverInfo[] {
  const problems: Problem[] = [];
  const files = new Map<string, string>();
  const drivers: DriverInfo[] = [];
  for (const source of sources) {
    try {
      const driver = reader(source);
      if (driver === undefined) continue;
      const { name } = driver.config;
      const other = files.get(name);
      if (other !== undefined) {
        problems.push(wholeFile(source.file, `names the driver "${name}" like ${other}`));
      }
      files.set(name, source.file);
      drivers.push(driver);
    } catch (error) {
      if (!(error instanceof DriverFileError)) throw error;
      problems.push(...error.problems);
    }
  }
  if (problems.length > 0) throw new DriverFileError(problems);
  return drivers;
}
