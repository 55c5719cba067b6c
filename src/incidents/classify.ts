import { readFileSync } from "node:fs";
import type { IncidentClass } from "./incident.ts";

/** One entry of `src/data/incident-classes.json`: case-insensitive regular expressions. */
interface Entry {
  readonly class: IncidentClass;
  readonly patterns: readonly string[];
}

const DATA_FILE = new URL("../data/incident-classes.json", import.meta.url);
const entries = (JSON.parse(readFileSync(DATA_FILE, "utf8")) as Entry[]).map((entry) => ({
  class: entry.class,
  pattern: new RegExp(entry.patterns.join("|"), "i"),
}));

/** Maximum number of characters that are matched: a message may be an HTML page. */
const MAX_LENGTH = 4_000;

/**
 * Finds the class of a driver's error message. The first matching entry is used: a timeout during
 * the refresh of a token is a network error.
 */
export function classify(message: string): IncidentClass {
  const text = message.slice(0, MAX_LENGTH);
  return entries.find(({ pattern }) => pattern.test(text))?.class ?? "unknown";
}
