import { X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";
import { invalid, type Violation } from "../messages/error.ts";
import { message, problemAt, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { ownValue } from "../own-value.ts";
import type { SettingDefinition } from "../settings/definition.ts";
import { checkText, checkValue, MASK, normalizeValue } from "../settings/value.ts";
import { trimEnd } from "../trim-end.ts";
import { checkPattern } from "./selection.ts";
import { keyPolicyOf } from "./settings/key-policy.ts";
import type { Site, SiteMode } from "./site.ts";
import { isChoiceOfSites } from "./site-names.ts";

/** Input for a site. Undefined members stay unchanged. */
export interface SiteInput {
  readonly name?: string | undefined;
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly ca?: string | undefined;
  readonly pin?: string | undefined;
  readonly mode?: SiteMode | undefined;
  readonly include?: readonly string[] | undefined;
  readonly exclude?: readonly string[] | undefined;
  /** A value that is the mask of a secret stays as it is. */
  readonly overrides?: Readonly<Record<string, string>> | undefined;
  readonly paused?: boolean | undefined;
}

/** Valid keys of overrides, and their length. */
export interface KnownKeys {
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly definitionOf: (key: string) => SettingDefinition | undefined;
  /** Keys of Mooring and of the site. */
  readonly keys: ReadonlySet<string>;
  /** Reports whether another address may get a kept value: it is open, or the caller may read it. */
  readonly mayRedirect: (key: string) => boolean;
  /** Whether another certificate than before may authenticate the server that gets kept secrets. */
  readonly mayRetrust: boolean;
}

const MAX_PATTERNS = 200;
const MAX_AUTHORITY = 65_536;
const MAX_OVERRIDES = 200;

/**
 * Applies an input to a site.
 *
 * @throws INVALID_ARGUMENT with every violation, without tokens and secret values.
 */
export function withInput(site: Site, input: SiteInput, known: KnownKeys): Site {
  const violations: Violation[] = [];
  const report = (field: string, problem: Text | undefined): void => {
    if (problem !== undefined) violations.push({ field, description: problemAt(field, problem) });
  };
  const given = Object.fromEntries(
    Object.entries(input).filter(([, value]) => value !== undefined),
  );
  // Counted first: nothing is created from too many entries.
  const overrides = Object.keys(input.overrides ?? {});
  const hasTooMany = overrides.length > MAX_OVERRIDES;
  const next: Site = Object.freeze({
    ...site,
    ...given,
    // Who pauses or resumes it ends the wait for an import.
    restoring: input.paused === undefined ? site.restoring : 0,
    overrides: hasTooMany ? {} : unmasked(input.overrides ?? site.overrides, site.overrides),
    url: normalUrl(input.url ?? site.url),
    pin: normalPin(input.pin ?? site.pin),
  });
  report("name", checkName(next.name));
  const urlProblem = checkUrl(next.url);
  report("url", urlProblem);
  report("token", checkToken(next.token));
  if (urlProblem === undefined) {
    const by = redirectedBy(site, next);
    const isAsked = by === "url" || !known.mayRetrust;
    if (by !== undefined && isAsked && site.token !== "" && input.token === undefined)
      report("token", message("KEPT_SECRET_REDIRECTED", { by }));
    if (by !== undefined)
      for (const key of keptKeys(site, input))
        if (!known.mayRedirect(key))
          report(`overrides[${key}]`, message("KEPT_SECRET_REDIRECTED", { by }));
  }
  report("ca", checkAuthority(next.ca));
  if (next.pin !== "" && !/^[0-9a-f]{64}$/.test(next.pin))
    report("certificate_sha256", message("FINGERPRINT_INVALID"));
  for (const field of ["include", "exclude"] as const) {
    report(
      field,
      next[field].length > MAX_PATTERNS
        ? message("TOO_MANY_PATTERNS", { most: MAX_PATTERNS })
        : undefined,
    );
    for (const pattern of next[field].slice(0, MAX_PATTERNS)) report(field, checkPattern(pattern));
  }
  report(
    "overrides",
    hasTooMany ? message("TOO_MANY_OVERRIDES", { most: MAX_OVERRIDES }) : undefined,
  );
  if (input.overrides !== undefined)
    for (const [key, value] of Object.entries(next.overrides)) {
      // Bounded: each unknown key is compared with all known keys.
      if (violations.length >= MAX_NAMED) break;
      report(`overrides[${key.slice(0, 255)}]`, checkOverride(key, value, known));
    }
  const [first, ...rest] = violations;
  if (first !== undefined) throw invalid([first, ...rest]);
  return next;
}

/**
 * Members with secrets that an input sends to a site that has them. For a caller who may not read
 * them, they count as changed, so that the reply does not show whether a guess was right.
 */
export function sentSecrets(
  site: Site,
  { token, overrides = {} }: SiteInput,
  isSecret: (key: string) => boolean,
): ("token" | "overrides")[] {
  const isSent = (key: string): boolean =>
    isSecret(key) &&
    overrides[key] !== MASK &&
    (ownValue(site.overrides, key) ?? "") !== "" &&
    overrides[key] !== "";
  return [
    ...(token !== undefined && site.token !== "" ? (["token"] as const) : []),
    ...(Object.keys(overrides).some(isSent) ? (["overrides"] as const) : []),
  ];
}

/**
 * Member by which another server may get the kept secrets of a site: its address, or a certificate that
 * authenticates the server at it, with which a machine on the way to the server could take its place.
 * Undefined: none.
 */
function redirectedBy(before: Site, next: Site): "url" | "ca" | "certificate_sha256" | undefined {
  if (next.url !== before.url) return "url";
  if (!next.url.startsWith("https:")) return undefined;
  if (next.ca !== before.ca) return "ca";
  return next.pin === before.pin ? undefined : "certificate_sha256";
}

/** Keys whose values on the site stay as they are. */
function keptKeys({ overrides }: Site, input: SiteInput): readonly string[] {
  return Object.keys(overrides).filter(
    (key) =>
      overrides[key] !== "" &&
      (input.overrides === undefined || ownValue(input.overrides, key) === MASK),
  );
}

function unmasked(
  overrides: Readonly<Record<string, string>>,
  before: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(overrides).map(([key, value]) => [
    key,
    value === MASK ? (ownValue(before, key) ?? value) : value,
  ]);
  return Object.fromEntries(entries);
}

function checkName(name: string): Text | undefined {
  if (isChoiceOfSites(name)) return message("SITE_NAME_RESERVED");
  return /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/.test(name) ? undefined : message("SITE_NAME_INVALID");
}

function checkAuthority(pem: string): Text | undefined {
  if (pem === "") return undefined;
  if (pem.length > MAX_AUTHORITY) return message("CERTIFICATE_TOO_LONG");
  try {
    // OpenSSL accepts a text without a certificate.
    new X509Certificate(pem);
    createSecureContext({ ca: pem });
    return undefined;
  } catch {
    return message("CERTIFICATE_INVALID");
  }
}

function normalUrl(text: string): string {
  const trimmed = text.trim();
  return URL.canParse(trimmed) ? trimEnd(trimmed, "/") : trimmed;
}

function normalPin(text: string): string {
  return text.replace(/[:\s]/g, "").toLowerCase();
}

/** Returns the problem of a site's address, which it does not repeat; undefined: none. */
function checkUrl(text: string): Text | undefined {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || text.length > 1_000)
    return message("SITE_URL_INVALID");
  if (url.username !== "" || url.password !== "") return message("SITE_URL_WITH_USER");
  if (url.search !== "" || url.hash !== "") return message("SITE_URL_WITH_QUERY");
  return undefined;
}

function checkToken(token: string): Text | undefined {
  // An empty token opens a site to everyone, so Mooring must not rely on it.
  if (token === "") return message("SITE_TOKEN_MISSING");
  return /^[\x21-\x7e]{1,1024}$/.test(token) ? undefined : message("SITE_TOKEN_INVALID");
}

function checkOverride(
  key: string,
  value: string,
  { definitionOf, keys, maxValueBytes }: KnownKeys,
): Text | undefined {
  if (keyPolicyOf(key).never) return message("OVERRIDE_OF_SITES_OWN");
  const definition = definitionOf(key);
  if (definition === undefined && !keys.has(key))
    return message("OVERRIDE_UNKNOWN", { hint: didYouMean(key, keys) });
  const problem = checkText(value, maxValueBytes);
  if (problem !== undefined || definition === undefined) return problem;
  return checkValue(definition, normalizeValue(definition, value));
}

/**
 * Checks keys of a request about a site.
 *
 * @param known all keys of Mooring and the site.
 * @throws INVALID_ARGUMENT for more than 1,000 keys, for unknown keys, and for keys of the site's own.
 */
export function checkKeys(keys: readonly string[], known: ReadonlySet<string>): void {
  if (keys.length > MAX_KEYS)
    throw invalid([
      {
        field: "keys",
        description: message("TOO_MANY_KEYS", { most: MAX_KEYS, count: keys.length }),
      },
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

function keyProblem(key: string, known: ReadonlySet<string>): Text | undefined {
  const name = `"${key.slice(0, 64)}"`;
  if (keyPolicyOf(key).never) return message("SETTING_IS_SITES_OWN", { name });
  if (known.has(key)) return undefined;
  return message("SETTING_UNKNOWN_TO_SITE", { name, hint: didYouMean(key, known) });
}

/** Maximum number of keys of a request. */
const MAX_KEYS = 1_000;
/** Maximum number of violations of an error. */
const MAX_NAMED = 20;
