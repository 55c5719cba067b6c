import type SQLite from "better-sqlite3";

/**
 * `PRAGMA data_version` of a connection, which changes with each commit of another one. SQLite answers
 * it from memory that all processes share.
 */
export class DataVersion {
  readonly #statement: SQLite.Statement<[], unknown>;
  /** Version of the settings in memory. */
  #seen: unknown;
  /** Version of the copy of the access tables; undefined: they were not read. */
  #seenAccess: unknown;
  /** Start of an unreadable period, from `performance.now()`; undefined: readable. */
  #unreadableSince: number | undefined;

  constructor(handle: SQLite.Database) {
    this.#statement = handle.prepare<[], number>("pragma data_version").pluck();
    this.#seen = this.read();
  }

  read(): unknown {
    return this.#statement.get();
  }

  /** Records the version of the settings in memory. */
  see(version: unknown): void {
    this.#seen = version;
  }

  seeAccess(version: unknown): void {
    this.#seenAccess = version;
  }

  /** Whether another connection has committed since the settings in memory. @throws SqliteError. */
  isBehind(): boolean {
    try {
      const isOther = this.read() !== this.#seen;
      this.#unreadableSince = undefined;
      return isOther;
    } catch (error) {
      this.#unreadableSince ??= performance.now();
      throw error;
    }
  }

  /** Whether another connection has committed since the access tables were read. @throws SqliteError. */
  isAccessBehind(): boolean {
    return this.read() !== this.#seenAccess;
  }

  /** Milliseconds since the first failed check; 0: the database is readable. */
  awayFor(): number {
    return this.#unreadableSince === undefined ? 0 : performance.now() - this.#unreadableSince;
  }
}
