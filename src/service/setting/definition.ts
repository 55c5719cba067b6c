import type { Family } from "../family.ts";
import type { FormatName } from "./format/registry.ts";
import type { SettingType } from "./type.ts";

/** A setting that the program knows, as src/data/settings.json defines it. Frozen. */
export interface SettingDefinition {
  readonly key: string;
  readonly type: SettingType;
  /** What a select can be, separated by commas; empty for other types. */
  readonly options: string;
  /** Group of the front end (docs/rest-contract.md, section 2.4). */
  readonly group: number;
  /** 0 public, 1 private, 2 readonly, 3 deprecated. */
  readonly flag: number;
  /** The value while none is stored. */
  readonly default: string;
  /** The description, where the pages of legacy sites have a hint of their own; else empty. */
  readonly help: string;
  readonly description: string;
  /** The name for people. */
  readonly label: string;
  /** The options for people, in the order of `options`. */
  readonly optionLabels: readonly string[];
  /** The group's name for people. */
  readonly groupLabel: string;
  /** The families that have this setting. */
  readonly families: readonly Family[];
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
