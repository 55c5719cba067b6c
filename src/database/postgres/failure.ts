import { errorText } from "../../error-text.ts";
import { type Notify, StoreError, type StoreFailure } from "../error.ts";

const UNKNOWN_AUTHORITY =
  "has a certificate of an unknown authority: give the authority's file as sslrootcert in the URL";

/** Explanations of SQLSTATEs (PostgreSQL, appendix A) and codes of the network. */
const EXPLAINED: Readonly<Record<string, readonly [StoreFailure, string]>> = {
  // No connection.
  ECONNREFUSED: ["away", "does not answer: start it, or correct MOORING_DATABASE_URL"],
  ENOENT: ["away", "has no socket there: start it, or correct MOORING_DATABASE_URL"],
  // The server ends a connection also after a commit: while it waits for a standby, or has crashed.
  "57P01": [
    "unsure",
    "has ended the connection: it is shutting down, or an administrator has terminated the session",
  ],
  "57P02": ["unsure", "is starting again after a crash"],
  "57P03": ["away", "is starting or shutting down: try again in a moment"],
  ENOTFOUND: ["unsure", "has an unknown host name: correct MOORING_DATABASE_URL"],
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: ["unsure", UNKNOWN_AUTHORITY],
  SELF_SIGNED_CERT_IN_CHAIN: ["unsure", UNKNOWN_AUTHORITY],
  DEPTH_ZERO_SELF_SIGNED_CERT: ["unsure", UNKNOWN_AUTHORITY],
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: ["unsure", UNKNOWN_AUTHORITY],
  CERT_HAS_EXPIRED: ["unsure", "has a certificate that has expired: renew it"],
  ERR_TLS_CERT_ALTNAME_INVALID: [
    "unsure",
    "has a certificate for another name than the host in the URL: use the name in the certificate",
  ],
  "28P01": ["unusable", "refuses this user or password: correct MOORING_DATABASE_URL"],
  "28000": ["unusable", "refuses this user: check its pg_hba.conf, and sslmode in the URL"],
  "3D000": ["unusable", "has no database of that name: create it, or correct the URL"],
  "53300": ["busy", "has no connection left: raise its max_connections, or run fewer instances"],
  // Permissions, resources, time limits.
  "25P03": ["busy", "waited too long for this program: try again in a moment"],
  "25006": [
    "unusable",
    "is a read-only standby: MOORING_DATABASE_URL must name the primary (target_session_attrs is not enough)",
  ],
  "53100": ["full", "cannot grow, because its disk is full: free some space, then try again"],
  "53200": ["busy", "is out of memory: try again in a moment"],
  "55P03": ["busy", "is locked by another session for too long: check pg_stat_activity"],
  "57014": ["busy", "canceled the statement: try again in a moment"],
  "40001": ["busy", "had a conflict of two transactions: try again"],
  "40P01": ["busy", "had a conflict of two transactions: try again"],
  "23505": ["taken", "has another row with the same unique value"],
  "22021": ["failed", "cannot store a text with a NUL character: remove it"],
};

/**
 * Converts an error of PostgreSQL or of the connection. Neither the error nor the place contains
 * the password.
 */
export function postgresFailure(error: unknown, place: string): StoreError {
  const code = codeOf(error);
  if (code === NO_RIGHT)
    return new StoreError(
      "unusable",
      `the database ${place} does not permit this operation to this user (${errorText(error)}): grant it all rights on Mooring's tables`,
      error,
    );
  if (isOfFile(error))
    return new StoreError(
      "unusable",
      `a file that the URL of the database ${place} names cannot be read (${errorText(error)}): correct sslrootcert, sslcert or sslkey`,
      error,
    );
  const known = EXPLAINED[code];
  if (known !== undefined)
    return new StoreError(known[0], `the database ${place} ${known[1]}`, error);
  // An error of the driver, without a code.
  if (/client password must be a string/.test(errorText(error)))
    return new StoreError(
      "unusable",
      `the database ${place} requires a password: put it into the URL, or name its file in PGPASSFILE`,
      error,
    );
  // Only errors of the server have a SQLSTATE; all others come from the connection.
  if (!isSqlState(code))
    return new StoreError(
      "unsure",
      `the database ${place} did not answer (${errorText(error)})`,
      error,
    );
  return new StoreError(
    "failed",
    `the database ${place} failed (${code}: ${errorText(error)})`,
    error,
  );
}

/** Reports whether the connection broke, so that a new one may succeed. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return code === "57P01" || code === "57P02" || (!isSqlState(code) && !(code in EXPLAINED));
}

/** SQLSTATE insufficient_privilege. */
const NO_RIGHT = "42501";

/**
 * Reports whether an error concerns a certificate file: the driver reads these files, and their
 * error codes are the same as those of sockets.
 */
function isOfFile(error: unknown): boolean {
  return (
    error instanceof Error && "syscall" in error && /^(open|read)$/.test(String(error.syscall))
  );
}

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code);
}

/** SQLSTATE or system error code of an error; empty: none. */
export function codeOf(error: unknown): string {
  if (error instanceof AggregateError) return codeOf(error.errors[0]);
  if (error instanceof Error && "code" in error && typeof error.code === "string")
    return error.code;
  return "";
}

/** Reachability of the database; logs each loss and return once. */
export class Contact {
  readonly #place: string;
  readonly #notify: Notify;
  /** Maximum silence of a reachable database, in milliseconds. */
  readonly #patience: number;
  /** Time of the last answer, by `performance.now()`. */
  #answered = performance.now();
  #isLost = false;

  constructor(place: string, notify: Notify, patience: number) {
    this.#place = place;
    this.#notify = notify;
    this.#patience = patience;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Milliseconds since the last answer if the database is unavailable; 0: it is available. */
  get awayFor(): number {
    const silence = performance.now() - this.#answered;
    return this.#isLost || silence > this.#patience ? silence : 0;
  }

  /** @param asked start of the answered query, by `performance.now()`. */
  answered(asked: number): void {
    this.#answered = asked;
    if (this.#isLost) this.#notify("info", `the database ${this.#place} is back`);
    this.#isLost = false;
  }

  lost(error: unknown): void {
    if (this.#isLost) return;
    this.#isLost = true;
    const { message } = error instanceof StoreError ? error : postgresFailure(error, this.#place);
    this.#notify(
      "error",
      `${message}; reads continue from memory; saves are refused until it is available`,
    );
  }
}
