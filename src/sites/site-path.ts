import { posix } from "node:path";
import { type Message, message } from "../messages/message.ts";

/**
 * Normalizes a path as servers do: forward slashes, a leading slash, no dot segments, no trailing
 * slash.
 */
export function cleanPath(path: string): string {
  const clean = posix.normalize(`/${path.replaceAll("\\", "/")}`);
  return clean === "/" ? clean : clean.replace(/\/+$/, "");
}

/** Maximum length of the path of a record, in UTF-16 units. */
const MAX_PATH = 1_000;

/** @returns the problem of a record's path; undefined: valid. */
export function pathProblem(path: string): Message | undefined {
  if (path === "" || path.length > MAX_PATH)
    return message("LENGTH_OUT_OF_RANGE", { most: MAX_PATH });
  if (!path.isWellFormed()) return message("SURROGATE");
  return /\p{Cc}/u.test(path) ? message("CONTROL_CHARACTERS") : undefined;
}
