import type { Coding } from "./encoded.ts";

/** Finds the codings that an Accept-Encoding header accepts, the preferred one first. */
export type Negotiator = (header: string | undefined) => readonly Coding[];

/** Maximum number of cached headers: browsers and proxies send few different ones. */
const REMEMBERED = 64;

/**
 * Creates a negotiator (RFC 9110, section 12.5.3) that caches its results. With equal weights, br
 * is preferred to gzip.
 */
export function createNegotiator(): Negotiator {
  const remembered = new Map<string, readonly Coding[]>();
  return (header) => {
    if (header === undefined) return NONE;
    const known = remembered.get(header);
    if (known) return known;
    const codings = acceptedCodings(header);
    if (remembered.size < REMEMBERED && header.length < 256) remembered.set(header, codings);
    return codings;
  };
}

const NONE: readonly Coding[] = [];

const PREFERENCE: readonly Coding[] = ["br", "gzip"];

/** The codings of a header with a weight above 0, by weight. */
export function acceptedCodings(header: string): readonly Coding[] {
  const weights = new Map(header.split(",").map(readMember));
  const weight = (coding: Coding): number => weights.get(coding) ?? weights.get("*") ?? 0;
  return PREFERENCE.filter((coding) => weight(coding) > 0).sort((a, b) => weight(b) - weight(a));
}

function readMember(member: string): [coding: string, weight: number] {
  const [name = "", ...parameters] = member.split(";");
  const q = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
  const weight = q === undefined ? 1 : Number(q.slice(q.indexOf("=") + 1));
  return [name.trim().toLowerCase(), Number.isNaN(weight) ? 0 : weight];
}
