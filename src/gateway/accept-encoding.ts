/** Finds the codings that an Accept-Encoding header accepts, the preferred one first. */
export type Negotiator<Name extends string = string> = (
  header: string | undefined,
) => readonly Name[];

/** Maximum number of cached headers: browsers and proxies send few different ones. */
const MAX_CACHED = 64;
/** Maximum length of a cached header. */
const MAX_CACHED_LENGTH = 255;

/**
 * Creates a negotiator (RFC 9110, section 12.5.3) that caches its results.
 *
 * @param names of the codings, the preferred one first if a header gives them equal weights.
 */
export function createNegotiator<Name extends string>(names: readonly Name[]): Negotiator<Name> {
  const cache = new Map<string, readonly Name[]>();
  return (header) => {
    if (header === undefined) return [];
    const known = cache.get(header);
    if (known !== undefined) return known;
    const codings = acceptedCodings(header, names);
    if (cache.size < MAX_CACHED && header.length <= MAX_CACHED_LENGTH) cache.set(header, codings);
    return codings;
  };
}

/** The codings that a header gives a weight above 0, the greatest weight first. */
export function acceptedCodings<Name extends string>(
  header: string,
  names: readonly Name[],
): readonly Name[] {
  const weights = new Map(header.split(",").map(readMember));
  const weight = (name: Name): number => weights.get(name) ?? weights.get("*") ?? 0;
  return names.filter((name) => weight(name) > 0).sort((a, b) => weight(b) - weight(a));
}

/** A weight that is no number is 0. */
function readMember(member: string): [coding: string, weight: number] {
  const [name = "", ...parameters] = member.split(";");
  const q = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
  const weight = q === undefined ? 1 : Number(q.slice(q.indexOf("=") + 1));
  return [name.trim().toLowerCase(), Number.isNaN(weight) ? 0 : weight];
}
