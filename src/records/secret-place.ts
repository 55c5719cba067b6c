/** Secret of a record: its own, or one of a site's values. */
export interface SecretPlace {
  /** Id of the site whose override has it; empty: the record itself. */
  readonly site: string;
  readonly item: string;
}

/**
 * Secret that was set by a caller without the right to read it. It counts as different on each site
 * until it was sent there: otherwise the caller could save guesses and see which one a site has.
 */
export interface BlindSecret extends SecretPlace {
  /** Revision of the save. */
  readonly revision: number;
}

/** Name of a secret part in the ledger: `SITE:ITEM`. Ids of sites have no colon. */
export function partOf({ site, item }: SecretPlace): string {
  return `${site}:${item}`;
}

/** Reads the name of a secret part. */
export function placeOf(part: string): SecretPlace {
  const colon = part.indexOf(":");
  return { site: part.slice(0, colon), item: part.slice(colon + 1) };
}
