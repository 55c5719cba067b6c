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
 * Value, or a complaint with the problem and the allowed values: the end of a sentence about the
 * variable and its value. A complaint never quotes a secret.
 */
export type Parsed<T> = { readonly value: T } | { readonly complaint: string };

/** Parses a trimmed, non-empty text of bounded length. Never throws. */
export type Parser<T> = (text: string, context: ParseContext) => Parsed<T>;

/** Parser of a fixed set of words, case-sensitive. */
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
    return { complaint: "contains a NUL byte, which is not allowed in a path" };
  }
  if (text === "~" || text.startsWith("~/")) {
    return { complaint: "begins with ~, which only a shell expands: write the whole path" };
  }
  if (
    /^(?:[a-z][a-z0-9+.-]*:\/\/|(?:https?|s3|file|sqlite|postgres|postgresql|unix):)/i.test(text)
  ) {
    return { complaint: "is an address, and a path is needed: a folder of that name is ./NAME" };
  }
  return { value: resolve(cwd, text) };
};

/** A text of at most 1,024 characters without control characters. */
export const shortText: Parser<string> = (text) =>
  /^\P{Cc}{1,1024}$/u.test(text)
    ? { value: text }
    : { complaint: "has a control character, or more than 1024 characters" };

/** Names separated by commas, in their order; white space around a name is removed. */
export function nameList(text: string): Parsed<readonly string[]> {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) {
    return { complaint: "has an empty name between its commas: write it as A,B,C" };
  }
  const twice = names.find((name, index) => names.indexOf(name) < index);
  return twice === undefined ? { value: names } : { complaint: "names something twice" };
}

const maxWorkers = 128;

/** Number of processes, 1 to 128; `auto` is the parallelism of the machine. */
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
 * one unit, rounded to whole milliseconds. Undefined for other texts, including a number without a
 * unit.
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

/** Parser of a duration in milliseconds within bounds, which are written as durations. */
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

/** Bytes of a size such as `4MiB`; undefined for other texts, including a number without a unit. */
function sizeOf(text: string): number | undefined {
  const groups = /^(?<count>\d{1,12})(?<unit>B|KiB|MiB|GiB)$/.exec(text)?.groups;
  // The pattern admits exactly these units.
  return groups && Number(groups["count"]) * unitBytes[groups["unit"] as keyof typeof unitBytes];
}

/** Parser of a size in bytes within bounds, which are written as sizes. */
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

/** Permission bits of a socket, in octal digits; they must include the owner's. */
export const fileMode: Parser<number> = (text) => {
  const mode = /^0?[0-7]{3}$/.test(text) ? Number.parseInt(text, 8) : undefined;
  if (mode === undefined) {
    return { complaint: "is not a file mode of three octal digits, such as 0660" };
  }
  return (mode & 0o600) === 0o600
    ? { value: mode }
    : { complaint: "denies access to the service's own user: it must begin with 06 or 07" };
};

/** Allowed web origins: all, or a list in the notation of browsers. */
export type Origins = "*" | readonly string[];

/**
 * `*`, or origins separated by commas: `SCHEME://HOST[:PORT]` and nothing after it. Each is
 * normalized to the notation of the `Origin` header (lower case, without the scheme's default
 * port), so that texts can be compared. Any scheme is valid: apps have their own, such as
 * `tauri://localhost`.
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
          `has a part (number ${index + 1}) that is not an origin: write * alone, or origins such as ` +
          "https://files.example.org,http://localhost:3000 without a path or a slash at the end",
      };
    }
    found.add(origin);
  }
  return { value: [...found] };
};

/**
 * Sources of frame-ancestors (Content Security Policy Level 3, section 6.4.2): `none`, `self`, or
 * origins with http or https and without wildcards, separated by commas.
 *
 * @returns the sources; empty: none.
 */
export const frameAncestors: Parser<readonly string[]> = (text) => {
  if (text === "none") return { value: [] };
  const found = new Set<string>();
  for (const [index, part] of text.split(",").entries()) {
    const source = part.trim();
    const origin = source === "self" ? "'self'" : originOf(source);
    // Other characters of a host would end the directive.
    if (origin === undefined || !/^('self'|https?:\/\/[a-z0-9.[\]:-]+)$/.test(origin))
      return {
        complaint:
          `has a part (number ${index + 1}) that is not an origin: write none, self, or origins such ` +
          "as https://panel.example.org without a path or a slash at the end",
      };
    found.add(origin);
  }
  return { value: [...found] };
};

/**
 * Origin of a URL: scheme, host and a port other than the scheme's default (RFC 6454, section 6.1).
 */
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
