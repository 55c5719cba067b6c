import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { invalid, type Violation } from "../messages/error.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { checkText, checkValue, normalizeValue } from "../settings/value.ts";
import { checkPattern, type Site, type SiteMode } from "./site.ts";
import { treatmentOf } from "./treatment.ts";

/** A site as a client describes it. What is undefined stays as it is. */
export interface SiteInput {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly ca?: string | undefined;
  readonly pin?: string | undefined;
  readonly mode?: SiteMode | undefined;
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
  readonly overrides?: Readonly<Record<string, string>> | undefined;
  readonly paused?: boolean | undefined;
}

/** What an override may be for, and how long. */
export interface KnownKeys {
  /** UTF-8 bytes of one value at most. */
  readonly maxValueBytes: number;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  /** Keys that Mooring or the site has. */
  readonly keys: ReadonlySet<string>;
}

const MAX_PATTERNS = 200;
const MAX_AUTHORITY = 65_536;
const MAX_OVERRIDES = 200;

/**
 * The site with what a client said of it.
 *
 * @throws INVALID_ARGUMENT with every violation; none has a token or a secret value.
 */
export function withInput(site: Site, input: SiteInput, known: KnownKeys): Site {
  const violations: Violation[] = [];
  const look = (field: string, problem: string | undefined): void => {
    if (problem !== undefined) violations.push({ field, description: `${field} ${problem}` });
  };
  const given = Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  );
  const next: Site = Object.freeze({
    ...site,
    ...given,
    url: normalUrl(input.url ?? site.url),
    pin: normalPin(input.pin ?? site.pin),
  });
  look("name", checkName(next.name));
  look("url", checkUrl(next.url));
  look("token", checkToken(next.token));
  look("ca", checkAuthority(next.ca));
  if (next.pin !== "" && !/^[0-9a-f]{64}$/.test(next.pin))
    look(
      "certificate_sha256",
      "is no SHA-256 fingerprint: 64 hexadecimal digits, colons don't count",
    );
  for (const field of ["include", "exclude"] as const) {
    look(
      field,
      next[field].length > MAX_PATTERNS ? `has more than ${MAX_PATTERNS} patterns` : undefined,
    );
    for (const pattern of next[field].slice(0, MAX_PATTERNS)) look(field, checkPattern(pattern));
  }
  const overrides = Object.entries(next.overrides);
  look(
    "overrides",
    overrides.length > MAX_OVERRIDES ? `has more than ${MAX_OVERRIDES} values` : undefined,
  );
  if (input.overrides !== undefined)
    for (const [key, value] of overrides.slice(0, MAX_OVERRIDES))
      look(`overrides[${key.slice(0, 255)}]`, checkOverride(key, value, known));
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
  return next;
}

function checkName(name: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name)
    ? undefined
    : "has 1 to 64 letters, digits, dots, lines below or hyphens, and begins with a letter or digit";
}

function checkAuthority(pem: string): string | undefined {
  if (pem === "") return undefined;
  if (pem.length > MAX_AUTHORITY) return "is longer than 64 KiB";
  try {
    // OpenSSL takes a text without any certificate in it, too.
    new X509Certificate(pem);
    createSecureContext({ ca: pem });
    return undefined;
  } catch {
    return "is no certificate in PEM form";
  }
}

function normalUrl(text: string): string {
  const trimmed = text.trim();
  return URL.canParse(trimmed) ? trimmed.replace(/\/+$/, "") : trimmed;
}

function normalPin(text: string): string {
  return text.replace(/[:\s]/g, "").toLowerCase();
}

/** What is wrong with the address of a site; undefined when nothing is. It is not repeated. */
export function checkUrl(text: string): string | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || text.length > 1_000)
    return "is no address: write it as http://HOST:PORT or https://HOST, with the path that the site is below, if any";
  if (url.username !== "" || url.password !== "")
    return "has a user or a password, which belong to no site: the token goes elsewhere";
  if (url.search !== "" || url.hash !== "") return "has something after its path";
  return undefined;
}

function checkToken(token: string): string | undefined {
  // An empty one opens a site to everybody, and must not be what Mooring relies on.
  if (token === "") return 'is missing: it is the site\'s own, in its settings under "Other"';
  return /^[\x21-\x7e]{1,1024}$/.test(token)
    ? undefined
    : "has a space or a character that no header carries";
}

function checkOverride(
  key: string,
  value: string,
  { definitionOf, keys, maxValueBytes }: KnownKeys,
): string | undefined {
  if (treatmentOf(key).never) return "is the site's own: it is never pushed";
  const definition = definitionOf(key);
  if (definition === undefined && !keys.has(key))
    return `is for a key that neither Mooring nor the site knows.${didYouMean(key, keys)}`;
  const problem = checkText(value, maxValueBytes);
  if (problem !== undefined || definition === undefined) return problem;
  return checkValue(definition, normalizeValue(definition, value));
}

/**
 * Looks at keys that somebody names of a site.
 *
 * @param known all keys that Mooring or the site has.
 * @throws INVALID_ARGUMENT for more than 1,000 keys; with the first keys that neither has, or that are
 *   the site's own.
 */
export function checkKeys(keys: readonly string[], known: ReadonlySet<string>): void {
  if (keys.length > MAX_KEYS)
    throw invalid([
      { field: "keys", description: `give at most ${MAX_KEYS} keys, not ${keys.length}` },
    ]);
  const violations: Violation[] = [];
  for (const [at, key] of keys.entries()) {
    if (violations.length === MAX_NAMED) break;
    const problem = keyProblem(key, known);
    if (problem !== undefined) violations.push({ field: `keys[${at}]`, description: problem });
  }
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
}

function keyProblem(key: string, known: ReadonlySet<string>): string | undefined {
  const name = `"${key.slice(0, 64)}"`;
  if (treatmentOf(key).never) return `${name} is the site's own: it is neither taken nor sent`;
  if (known.has(key)) return undefined;
  return `neither Mooring nor the site has a setting ${name}.${didYouMean(key, known)}`;
}

/** Keys that one request names at most. */
const MAX_KEYS = 1_000;
/** Keys that one refusal names at most. */
const MAX_NAMED = 20;
