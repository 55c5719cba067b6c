import type { Parser } from "./value.ts";
import { path } from "./value.ts";

/** Which database to open. */
export interface Database {
  readonly dialect: "sqlite";
  /** Absolute path, or `:memory:` for a private database that ends with the process. */
  readonly filename: string;
}

/** The file name that SQLite itself gives to a database in memory. */
export const inMemory = ":memory:";

/**
 * `sqlite:PATH` or `sqlite::memory:`. The path is taken literally (no %-escapes, no options after a
 * question mark). `sqlite:///path` is the absolute path, as in other URLs.
 */
export const database: Parser<Database> = (text, context) => {
  const scheme = schemeOf(text);
  if (scheme !== "sqlite") {
    return { complaint: otherDatabase(scheme) };
  }
  const filename = text.slice("sqlite:".length);
  if (filename === inMemory) {
    return { value: { dialect: "sqlite", filename } };
  }
  const complaint = refusePath(filename);
  if (complaint !== undefined) {
    return { complaint };
  }
  const parsed = path(filename, context);
  return "value" in parsed ? { value: { dialect: "sqlite", filename: parsed.value } } : parsed;
};

/** What may be shown of a database URL: other databases' URLs hold user names and passwords. */
export function showDatabase(text: string): string {
  const scheme = schemeOf(text);
  if (scheme === "sqlite") {
    return text;
  }
  return scheme === undefined ? "…" : `${scheme}:…`;
}

/** Only schemes that are known: what stands before another colon may be anything, also a password. */
function schemeOf(text: string): string | undefined {
  return /^(sqlite|postgres|postgresql|mysql|mariadb):/i.exec(text)?.[1]?.toLowerCase();
}

function otherDatabase(scheme: string | undefined): string {
  return scheme === undefined
    ? "is not a database URL: write it as sqlite:PATH"
    : "names a database that this build does not have: it has only sqlite, sqlite:PATH";
}

function refusePath(filename: string): string | undefined {
  if (filename === "") {
    return "has no path: write it as sqlite:PATH, or sqlite::memory: for none";
  }
  if (filename.includes("?")) {
    return "has options after a question mark, which are not supported: write only the path";
  }
  // Two slashes begin a host in a URL, three an absolute path.
  return /^\/\/[^/]/.test(filename)
    ? "has two slashes: write sqlite:name for a relative path, sqlite:/name for an absolute one"
    : undefined;
}
