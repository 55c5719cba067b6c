import { resolve } from "node:path";

/** What a parser may know of the world besides the text; part of what `parseConfig` is given. */
export interface ParseContext {
  /** Absolute path that relative paths start from. */
  readonly cwd: string;
  /** Number that `auto` stands for: how many processes this machine can run side by side. */
  readonly parallelism: number;
}

/**
 * A value, or a complaint: what is wrong and what is allowed, as the end of a sentence that names
 * the variable and shows its value. A complaint never repeats a secret.
 */
export type Parsed<T> = { readonly value: T } | { readonly complaint: string };

/** Reads a text that is trimmed, not empty and of bounded length. Never throws. */
export type Parser<T> = (text: string, context: ParseContext) => Parsed<T>;

/** One of a few words, written exactly so. */
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
