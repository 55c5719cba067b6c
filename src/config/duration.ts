import type { Parser } from "./value.ts";

const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const pattern = /^(?<count>\d{1,9}(?:\.\d{1,3})?)(?<unit>ms|s|m|h|d)$/;

/**
 * Milliseconds of a duration such as `500ms`, `10s`, `1.5m`, `2h` or `30d`: one decimal number and one
 * unit. Rounded to a whole millisecond. Undefined when the text is anything else; a bare number is,
 * because nobody can tell seconds from milliseconds.
 */
export function durationMs(text: string): number | undefined {
  const groups = pattern.exec(text)?.groups;
  if (groups === undefined) {
    return undefined;
  }
  const { count, unit } = groups;
  // The pattern admits exactly these units.
  return Math.round(Number(count) * unitMs[unit as keyof typeof unitMs]);
}

/** A duration in milliseconds from 0 to `longest`, which is itself written as a duration. */
export function duration({ longest }: { longest: string }): Parser<number> {
  const limit = durationMs(longest) ?? 0;
  return (text) => {
    const ms = durationMs(text);
    if (ms === undefined) {
      return { complaint: "is not a number with one of the units ms, s, m, h, d, such as 10s" };
    }
    return ms <= limit ? { value: ms } : { complaint: `is longer than ${longest}` };
  };
}
