import type SQLite from "better-sqlite3";

/** An open database of better-sqlite3. */
export type SqliteHandle = SQLite.Database;
