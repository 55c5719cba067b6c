/** Last listing of a mount at its provider: by a test of a user, or by a probe. */
export interface Listing {
  /** Identifies the row that was listed (`listingForm`). */
  readonly form: string;
  readonly driver: string;
  /** Milliseconds since 1970 UTC. */
  readonly at: number;
  /** Time of the first listing in a row with the same result: all worked, or all failed. */
  readonly since: number;
  /** First line of the server's message without secrets; empty: it worked. */
  readonly error: string;
  /** Class of the error (`src/incidents/incident.ts`); empty: it worked. */
  readonly class: string;
  /** Number of listings in a row that failed. */
  readonly failures: number;
}

/** Identifies a user's version of a row: servers write tokens back without changing `modified`. */
export function listingForm(row: {
  readonly id: number;
  readonly driver: string;
  readonly [member: string]: unknown;
}): string {
  return JSON.stringify([row.id, row.driver, row["modified"]]);
}

/**
 * The last listing of a mount, with the number and the first time of equal results in a row.
 *
 * @param before the listing before; one of another version of the row does not count.
 */
export function nextListing(
  before: Listing | undefined,
  now: Pick<Listing, "form" | "driver" | "at" | "error" | "class">,
): Listing {
  const last = before?.form === now.form ? before : undefined;
  const isSame = last !== undefined && (last.error === "") === (now.error === "");
  return {
    ...now,
    since: isSame ? Math.min(last.since, now.at) : now.at,
    failures: now.error === "" ? 0 : (last?.failures ?? 0) + 1,
  };
}
