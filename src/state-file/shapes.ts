import { definitionsOf } from "../settings/definition-file.ts";
import { FLAG } from "../settings/item.ts";
import { shapeOf, type ValueShape } from "./setting-value.ts";

/** A setting that the program defines, as far as a file needs it. */
export interface KnownSetting {
  readonly shape: ValueShape;
  /** Undefined: it differs between the families of servers. */
  readonly default: string | undefined;
  /** Whether every family of servers has it. */
  readonly isCommon: boolean;
}

/** Settings of all families by their keys, without those that the program sets. */
export function readKnownSettings(): ReadonlyMap<string, KnownSetting> {
  const known = new Map<string, KnownSetting>();
  const families = ["all", "openlist", "alist"] as const;
  const counts = new Map<string, number>();
  for (const family of families)
    for (const { key, format, flag, default: value } of definitionsOf(family)) {
      if (flag === FLAG.readonly) continue;
      const earlier = known.get(key);
      const isSame = earlier === undefined || earlier.default === value;
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      known.set(key, {
        shape: shapeOf(format),
        default: isSame ? value : undefined,
        isCommon: count === families.length,
      });
    }
  return known;
}
