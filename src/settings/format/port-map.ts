import type { Text } from "../../messages/message.ts";
import { message } from "../../messages/message.ts";
import { type Format, quoted, unixLines } from "./format.ts";

/** Entries of one map at most. */
const MAX_ENTRIES = 1_000;
/** The highest port number of TCP. */
const MAX_PORT = 65_535;
/** Ranges below it are refused: those ports belong to system services (RFC 6335, section 6). */
const MIN_RANGE_PORT = 1_024;

const WHAT =
  "a port, a range such as 2122-2130, or exposed:listened such as 3122-3130:2122-2130, separated by commas or line breaks";

/** Ports for passive FTP. Empty text: the system chooses. One wrong entry would void the others. */
export const portMap: Format = {
  check: checkPortMap,
  normalize: (value) => unixLines(value).trim(),
  quotes: true,
};

function checkPortMap(value: string): Text | undefined {
  if (value === "") return undefined;
  const entries = value.split(/[,\n]/);
  if (entries.length > MAX_ENTRIES)
    return message("TOO_MANY_PORTS", { count: entries.length, most: MAX_ENTRIES });
  for (const [at, entry] of entries.entries()) {
    const problem = checkEntry(entry);
    if (problem !== undefined)
      return message("PORT_ENTRY_PROBLEM", { entry: at + 1, value: quoted(entry), problem });
  }
  return undefined;
}

function checkEntry(entry: string): Text | undefined {
  const sides = entry.split(":");
  const counts = sides.map(portCount);
  if (sides.length > 2 || counts.includes(undefined))
    return message("PORT_ENTRY_INVALID", { form: WHAT });
  return counts[1] !== undefined && counts[0] !== counts[1]
    ? message("PORT_COUNTS_DIFFER", { one: counts[0] ?? 0, other: counts[1] })
    : undefined;
}

/** @returns how many ports a range or single port has; undefined when it is neither. */
function portCount(text: string): number | undefined {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const first = Number(match[1]);
  if (match[2] === undefined) return first >= 1 && first <= MAX_PORT ? 1 : undefined;
  const last = Number(match[2]);
  return first >= MIN_RANGE_PORT && first <= last && last <= MAX_PORT
    ? last - first + 1
    : undefined;
}
