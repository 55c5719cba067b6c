// Parsers of values that are one word: choices, names, paths, quantities, origins.

import { resolve } from "node:path";

/** Context of a parser; part of the input of `parseConfig`. */
export interface ParseContext {
  /** Absolute path that relative paths start from. */
  readonly cwd: string;
  /** Value of `auto`: the number of processes that this machine can run in parallel. */
  readonly parallelism: number;
}

/**
 * A value, or a complaint: what is wrong and what is allowed, as the end of a sentence that names
 * the variable and shows its value. A complaint never repeats a secret.
 */
export type Parsed<T> = { readonly value: T } | { readonly complaint: string };

/** Reads a text that is trimmed, not empty and of bounded length. Never throws. */
export type Parser<T> = (text: string, context: ParseContext) => Parsed<T>;

/** One of some words, written exactly so. */
export function choice<const T extends string>(...words: readonly T[]): Parser<T> {
  return (text) => {
    const word = words.find((candidate) => candidate === text);
    return word === undefined
      ? { complaint: `is not one of ${words.join(", ")}` }
      : { value: word };
  };
}

/** A path of the file system, made absolute. */
export const path: Parser<string> = (text, { cwd }) => {
  if (text === "") {
    return { complaint: "has no path" };
  }
  if (text.includes("\0")) {
    return { complaint: "contains a zero byte, which no path can" };
  }
  if (text === "~" || text.startsWith("~/")) {
    return { complaint: "begins with ~, which only a shell expands: write the whole path" };
  }
  return { value: resolve(cwd, text) };
};

/** Names separated by commas, in the order given; white space around a name does not count. */
export const nameList: Parser<readonly string[]> = (text) => {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) {
    return { complaint: "has an empty name between its commas: write it as A,B,C" };
  }
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? { value: names } : { complaint: "names something twice" };
};

const maxWorkers = 128;

/** A number of processes, 1 to 128; `auto` is as many as the machine runs side by side. */
export const workerCount: Parser<number> = (text, { parallelism }) => {
  if (text === "auto") {
    return { value: Math.min(Math.max(parallelism, 1), maxWorkers) };
  }
  const count = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= maxWorkers
    ? { value: count }
    : { complaint: `is neither a whole number from 1 to ${maxWorkers} nor auto` };
};

/** A whole number in digits, within bounds. */
export function wholeNumber({ min, max }: { min: number; max: number }): Parser<number> {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max
      ? { value }
      : { complaint: `is not a whole number from ${min} to ${max}` };
  };
}

/** Milliseconds of a unit. */
const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const durationPattern = /^(?<count>\d{1,9}(?:\.\d{1,3})?)(?<unit>ms|s|m|h|d)$/;

/**
 * Milliseconds of a duration such as `500ms`, `10s`, `1.5m`, `2h` or `30d`: one decimal number and
 * one unit. Rounded to a whole millisecond. Undefined for any other text, also a bare number, whose
 * unit would be ambiguous.
 */
export function durationMs(text: string): number | undefined {
  const groups = durationPattern.exec(text)?.groups;
  if (groups === undefined) {
    return undefined;
  }
  const { count, unit } = groups;
  // The pattern admits exactly these units.
  return Math.round(Number(count) * unitMs[unit as keyof typeof unitMs]);
}

/** A duration in milliseconds within bounds that are written as durations themselves. */
export function duration(bounds: { shortest?: string; longest: string }): Parser<number> {
  const { shortest = "0s", longest } = bounds;
  const limit = durationMs(longest) ?? 0;
  const least = durationMs(shortest) ?? 0;
  return (text) => {
    const ms = durationMs(text);
    if (ms === undefined) {
      return { complaint: "is not a number with one of the units ms, s, m, h, d, such as 10s" };
    }
    if (ms < least) {
      return { complaint: `is shorter than ${shortest}` };
    }
    return ms <= limit ? { value: ms } : { complaint: `is longer than ${longest}` };
  };
}

const probeBounds = duration({ shortest: "15m", longest: "24h" });

/** Milliseconds between two listings of a mount: 15 minutes to a day, or 0 for none. */
export const probeInterval: Parser<number> = (text, context) =>
  durationMs(text) === 0 ? { value: 0 } : probeBounds(text, context);

const unitBytes = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 } as const;

/** Bytes of a size such as `4MiB`; undefined when the text is anything else, a bare number as well. */
function sizeOf(text: string): number | undefined {
  const groups = /^(?<count>\d{1,12})(?<unit>B|KiB|MiB|GiB)$/.exec(text)?.groups;
  // The pattern admits exactly these units.
  return groups && Number(groups["count"]) * unitBytes[groups["unit"] as keyof typeof unitBytes];
}

/** A size in bytes within bounds, which are themselves written as sizes. */
export function byteCount({ least, most }: { least: string; most: string }): Parser<number> {
  const min = sizeOf(least) ?? 0;
  const max = sizeOf(most) ?? 0;
  return (text) => {
    const value = sizeOf(text);
    if (value === undefined) {
      return {
        complaint: "is not a whole number with one of the units B, KiB, MiB, GiB, such as 8MiB",
      };
    }
    return value >= min && value <= max
      ? { value }
      : { complaint: `is not within ${least} and ${most}` };
  };
}

/** The permission bits of a socket, in octal digits; its owner has to be among them. */
export const fileMode: Parser<number> = (text) => {
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : undefined;
  if (mode === undefined) {
    return { complaint: "is no file mode of three octal digits, such as 0660" };
  }
  return (mode & 0o600) === 0o600
    ? { value: mode }
    : { complaint: "keeps the service's own user out: it begins with 06 or 07" };
};

/** Web origins that browsers may call from: all, or these, each as a browser writes it. */
export type Origins = "*" | readonly string[];

/**
 * `*`, or origins separated by commas: `SCHEME://HOST[:PORT]` and nothing after it. Each comes out
 * as browsers send it in the `Origin` header (lower case, the scheme's own port left out), so that
 * a comparison of texts is enough. Any scheme: apps have their own, such as `tauri://localhost`.
 */
export const origins: Parser<Origins> = (text) => {
  if (text === "*") {
    return { value: "*" };
  }
  const found = new Set<string>();
  for (const [index, part] of text.split(",").entries()) {
    const origin = originOf(part.trim());
    if (origin === undefined) {
      return {
        complaint:
          `has a part (number ${index + 1}) that is no origin: write * alone, or origins such as ` +
          "https://files.example.org,http://localhost:3000 without a path or a slash at the end",
      };
    }
    found.add(origin);
  }
  return { value: [...found] };
};

/** List of origins for display: a pasted URL may contain a password. */
export function showOrigins(text: string): string {
  return text.replace(/\/\/.*@/s, "//…@");
}

/** RFC 6454, section 6.1: scheme, host and, unless it is the scheme's own, port. */
function originOf(text: string): string | undefined {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@\\*]+$/i.test(text)) {
    return undefined;
  }
  const url = URL.parse(text);
  if (url === null || url.host === "") {
    return undefined;
  }
  // `url.origin` is "null" for schemes that the URL standard does not list.
  return `${url.protocol}//${url.host}`.toLowerCase();
}
