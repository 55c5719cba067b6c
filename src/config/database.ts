import type { Parsed, Parser } from "./value.ts";
import { path } from "./value.ts";

/** Database to open. */
export type Database = SqliteDatabase | PostgresDatabase;

interface SqliteDatabase {
  readonly dialect: "sqlite";
  /** Absolute path, or `:memory:` for a private database that ends with the process. */
  readonly filename: string;
}

interface PostgresDatabase {
  readonly dialect: "postgres";
  /** With the password. Secret. */
  readonly url: string;
  /** URL for display. */
  readonly place: string;
}

/** The file name that SQLite itself gives to a database in memory. */
export const inMemory = ":memory:";

/**
 * `sqlite:PATH` or `sqlite::memory:`, or the URL of a PostgreSQL server. The path is taken literally (no %-escapes, no options after a
 * question mark). `sqlite:///path` is the absolute path, as in other URLs.
 */
export const database: Parser<Database> = (text, context) => {
  const scheme = schemeOf(text);
  if (scheme === "postgres" || scheme === "postgresql") {
    return postgres(text);
  }
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

/**
 * `postgres://USER:PASSWORD@HOST:PORT/NAME?options`: parsed by the driver. Checked here only for
 * the URL syntax, and for its display.
 */
function postgres(text: string): Parsed<PostgresDatabase> {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return {
      complaint:
        "is not a URL: write it as postgres://USER:PASSWORD@HOST:PORT/NAME, and @, :, / or % of a password as %40, %3A, %2F or %25",
    };
  }
  const port = url.searchParams.get("port") ?? "1";
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    return { complaint: "has a port that is not a number from 1 to 65535" };
  if (url.pathname.length < 2)
    return { complaint: "names no database: write it as postgres://USER@HOST/NAME" };
  const user = url.username === "" ? "" : `${url.username}@`;
  return {
    value: {
      dialect: "postgres",
      url: text,
      place: `postgres://${user}${url.host}${url.pathname}`,
    },
  };
}

/** Name of a database in logs and messages: without a password. */
export function databaseName(database: Database): string {
  return database.dialect === "sqlite" ? database.filename : database.place;
}

/** Database URL for display, without user names and passwords. */
export function showDatabase(text: string): string {
  const scheme = schemeOf(text);
  if (scheme === "sqlite") {
    return text;
  }
  return scheme === undefined ? "…" : `${scheme}:…`;
}

/** Scheme of a URL, if it is a known one: text before another colon may be a password. */
function schemeOf(text: string): string | undefined {
  return /^(sqlite|postgres|postgresql|mysql|mariadb):/i.exec(text)?.[1]?.toLowerCase();
}

function otherDatabase(scheme: string | undefined): string {
  return scheme === undefined
    ? "is not a database URL: write it as sqlite:PATH or postgres://USER@HOST/NAME"
    : "names an unsupported database: use sqlite:PATH or postgres://USER@HOST/NAME";
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
