import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readDefinitions } from "./definition-file.ts";
import type { FormatName } from "./format/registry.ts";
import type { SettingType } from "./type.ts";

/** A setting that the program knows, as src/data/settings.json defines it. Frozen. */
export interface SettingDefinition {
  readonly key: string;
  readonly type: SettingType;
  /** What a select can be, separated by commas; empty for other types. */
  readonly options: string;
  /** Group of the front end (contract, section 2.4). */
  readonly group: number;
  /** 0 public, 1 private, 2 readonly, 3 deprecated. */
  readonly flag: number;
  /** The value while none is stored. */
  readonly default: string;
  readonly help: string;
  /** A password, token or key, or text that may hold one: never in a message, a log or a history. */
  readonly secret: boolean;
  /** Whether a number may have a fraction. */
  readonly decimal: boolean;
  /** Bounds of a number, themselves allowed. */
  readonly min?: number;
  readonly max?: number;
  /** What a number counts, for people. */
  readonly unit?: string;
  /** What the value has to be beyond its type. */
  readonly format?: FormatName;
  /** Position in the order of lists, from 0. */
  readonly index: number;
}

const DATA_FILE = new URL("../../data/settings.json", import.meta.url);

/**
 * Reads and checks the definitions, in the order of lists.
 *
 * @param file - by default the one that belongs to the program.
 * @throws Error that names the file and, for each wrong member, the setting's key and the member.
 */
export function loadSettingDefinitions(
  file: string | URL = DATA_FILE,
): readonly SettingDefinition[] {
  const path = typeof file === "string" ? file : fileURLToPath(file);
  return readDefinitions(readFileSync(path, "utf8"), path);
}
