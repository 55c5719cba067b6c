const NONE = "–";

/** A large number with separators, such as `31,204`. */
export function count(value: number | undefined): string {
  return value === undefined ? NONE : Math.round(value).toLocaleString("en-US");
}

/** About three significant digits, such as `32.1`, `0.85` or `0.012`. */
export function decimal(value: number | undefined): string {
  if (value === undefined || Number.isNaN(value)) return NONE;
  const digits =
    Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : Math.abs(value) >= 0.1 ? 2 : 3;
  return value.toFixed(digits);
}

/** `0.98` → `98 %`. */
export function percent(value: number | undefined): string {
  return value === undefined ? NONE : `${Math.round(value * 100)} %`;
}

/** Bytes as `812 B`, `2.6 kB` or `1.3 MB` (decimal prefixes). */
export function size(bytes: number | undefined): string {
  if (bytes === undefined) return NONE;
  if (bytes < 1_000) return `${Math.round(bytes)} B`;
  if (bytes < 1_000_000) return `${decimal(bytes / 1_000)} kB`;
  return `${decimal(bytes / 1_000_000)} MB`;
}
