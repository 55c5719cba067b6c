/** How history, streams and log name whoever has a token: `PRINCIPAL/TOKEN-ID`. */
export function actorOf(principal: string, tokenId: string): string {
  return `${principal}/${tokenId}`;
}

/** A principal's name has no slash, and names of others have none, or something before it that it has not. */
const FORM = /^([a-z0-9][a-z0-9._-]*)\/([0-9A-Za-z]{12})$/;

/** The token's id in such a name; empty: it has none, as `admin` and parts of the program. */
export function tokenIdOf(actor: string): string {
  return FORM.exec(actor)?.[2] ?? "";
}
