import { reviveText, type Text } from "../messages/message.ts";

/** `observe`: compared, never written. `follow`: gets every change. */
export type SiteMode = "observe" | "follow";

/** Maximum number of sites: each needs a list of settings in memory and a call per minute. */
export const MAX_SITES = 1_000;

/** Server of the AList family whose records Mooring manages. Frozen. */
export interface Site {
  /** Random and constant. */
  readonly id: string;
  /** 1 to 64 letters, digits, `.`, `_` and `-`. Unique. */
  readonly name: string;
  /** http or https URL with the site's path prefix; no user, query or fragment. */
  readonly url: string;
  /** Its permanent admin token. */
  readonly token: string;
  /** PEM text of an authority; empty: Node's default authorities. */
  readonly ca: string;
  /** SHA-256 of its certificate, 64 hexadecimal digits; empty: the authority decides. */
  readonly pin: string;
  readonly mode: SiteMode;
  /** Keys, patterns with `*`, and groups such as `group:9`. Empty: all. */
  readonly include: readonly string[];
  /** Patterns; they take precedence over `include`. */
  readonly exclude: readonly string[];
  /** Values that replace Mooring's on this site. */
  readonly overrides: Readonly<Record<string, string>>;
  readonly paused: boolean;
  /**
   * Time at which an import has paused the site until all that belongs to it is stored, in milliseconds
   * since 1970 UTC; 0: no import pauses it.
   */
  readonly restoring: number;
  /** Whether it is the upstream. */
  readonly upstream: boolean;
  /** Milliseconds since 1970 UTC. */
  readonly created: number;
}

/** Members of a new site. */
export const NEW_SITE: Site = Object.freeze({
  id: "",
  name: "",
  url: "",
  token: "",
  ca: "",
  pin: "",
  mode: "observe" as const,
  include: [],
  exclude: [],
  overrides: {},
  paused: false,
  restoring: 0,
  upstream: false,
  created: 0,
});

/**
 * Reports whether a change would make a site follow before its values were adopted or replaced:
 * Mooring's values would be written there without a comparison.
 *
 * @param before undefined: a new site.
 */
export function followsTooEarly(
  before: Site | undefined,
  after: Site,
  { appliedRevision }: Pick<SiteState, "appliedRevision">,
): boolean {
  return after.mode === "follow" && before?.mode !== "follow" && appliedRevision === 0;
}

/** Kind of server, as far as it can be determined. */
export type SiteKind = "openlist" | "alist" | "unknown";

/** Value that the site refused. */
export interface Refused {
  /** Keyed hash of the value. */
  readonly hash: string;
  /** First line of the site's message. */
  readonly reason: Text;
  /** Code of the site's envelope; 0 or absent: none. */
  readonly code?: number;
}

/** Value that the upstream refused and that was replaced by the upstream's value. */
export interface ReplacedValue {
  /** The revision that had set the refused value. */
  readonly revision: number;
  /** First line of the upstream's message, without secrets. */
  readonly reason: Text;
  /** Code of its envelope; 0: none. */
  readonly code: number;
  /** Whether the same revision has set other keys, which the upstream accepted. */
  readonly isPart: boolean;
}

/** Corrections of a key that another client changes repeatedly. */
export interface KeyCorrections {
  /** Times of the corrections, in milliseconds since 1970 UTC. */
  readonly times: readonly number[];
  /** Whether it is no longer corrected, after too many corrections. */
  readonly isFlapping: boolean;
}

/** State of a site. It contains values as hashes only. */
export interface SiteState {
  /** Version of the stored state; 0: none. */
  readonly storedVersion: number;
  /** Milliseconds since 1970 UTC, as all times; 0: never. */
  readonly reachedAt: number;
  readonly kind: SiteKind;
  readonly version: string;
  /** Keys of the site. */
  readonly known: readonly string[];
  /** Revision whose changes are on the site, except for the keys below; 0: never adopted or pushed. */
  readonly appliedRevision: number;
  /** Keys with different values. */
  readonly drift: readonly string[];
  readonly refused: Readonly<Record<string, Refused>>;
  /** The last refusal of each key by the upstream, at most 100 keys. Empty for other sites. */
  readonly replaced: Readonly<Record<string, ReplacedValue>>;
  /** Values as sent and as stored by the site. */
  readonly rewritten: Readonly<Record<string, { readonly sent: string; readonly got: string }>>;
  /** Values of the site that are invalid for Mooring, kept until Mooring's value changes. */
  readonly held: Readonly<Record<string, { readonly revision: number; readonly reason: Text }>>;
  readonly corrections: Readonly<Record<string, KeyCorrections>>;
  /** Keys of Mooring that the site does not have. */
  readonly missing: readonly string[];
  readonly error:
    | { readonly kind: string; readonly message: Text; readonly since: number }
    | undefined;
  /** Number of consecutive failures. */
  readonly failures: number;
  readonly nextTry: number;
}

/** Summary of the records of one kind on a site. The same object until it changes. */
export interface RecordsOfSite {
  readonly kind: "mount" | "rule";
  /** Reason for which the records can't be read. */
  readonly error: SiteState["error"];
  /** Number of Mooring's records on the site, by state (`ok`, `failing`, …). */
  readonly counts: Readonly<Record<string, number>>;
}

/** Site with its state. */
export interface SiteView {
  readonly site: Site;
  readonly state: SiteState;
  /** Of each kind of records beside settings. */
  readonly records: readonly RecordsOfSite[];
}

export const NEW_STATE: SiteState = Object.freeze({
  storedVersion: 0,
  reachedAt: 0,
  kind: "unknown",
  version: "",
  known: [],
  appliedRevision: 0,
  drift: [],
  refused: {},
  replaced: {},
  rewritten: {},
  held: {},
  corrections: {},
  missing: [],
  error: undefined,
  failures: 0,
  nextTry: 0,
});

/**
 * Reads a state as `JSON.stringify` wrote it. Members that are missing are those of a new state.
 * Times are whole milliseconds afterwards: earlier versions stored fractions, which no
 * `google.protobuf.Timestamp` can hold.
 */
export function readState(text: string): SiteState {
  const state: SiteState = { ...NEW_STATE, ...JSON.parse(text, reviveText) };
  const { error, corrections } = state;
  return {
    ...state,
    reachedAt: Math.trunc(state.reachedAt),
    nextTry: Math.trunc(state.nextTry),
    error: error && { ...error, since: Math.trunc(error.since) },
    corrections: Object.fromEntries(
      Object.entries(corrections).map(([key, { times, isFlapping }]) => [
        key,
        { times: times.map(Math.trunc), isFlapping },
      ]),
    ),
  };
}

/** The reason for which a site can't be read: its settings or other records; undefined: none. */
export function errorOf({ state, records }: Omit<SiteView, "site">): SiteState["error"] {
  return state.error ?? records.find(({ error }) => error !== undefined)?.error;
}

/** Number of the records of a kind on a site, by state. */
export function countsOf(
  { records }: Pick<SiteView, "records">,
  kind: RecordsOfSite["kind"],
): RecordsOfSite["counts"] {
  return records.find((each) => each.kind === kind)?.counts ?? {};
}

/** Members with the address of a site and the right to call it. */
const ACCESS: ReadonlySet<string> = new Set(["url", "token", "ca", "pin"]);

/** Reports whether a change of these members may mend a failed contact with a site. */
export function changesAccess(changed: readonly string[]): boolean {
  return changed.some((member) => ACCESS.has(member));
}
