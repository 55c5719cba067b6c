import type { Snapshot } from "../../ledger/snapshot.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import type { Fingerprint } from "../../secrets/fingerprint.ts";
import { countCorrection, recentCorrections } from "../../sync/flapping.ts";
import type { KeyCorrections, Refused, Site, SiteKind, SiteState } from "../site.ts";
import type { SiteEvent } from "../store.ts";
import type { SettingClient, SiteRow } from "./client.ts";
import { type Comparison, compare, isKnown } from "./compare.ts";
import { type Pushed, push, type Wanted } from "./push.ts";

/** Options of a round. */
export interface RoundOptions {
  /** `read`: compares only. `push`: writes too. */
  readonly aim: "read" | "push";
  /** Only these keys; undefined: all. */
  readonly keys?: readonly string[] | undefined;
  /** On explicit request: refused and flapping values are tried again. */
  readonly force?: boolean;
  readonly actor: string;
  /** Ends the round, before it begins to push. */
  readonly signal?: AbortSignal | undefined;
}

export interface RoundDeps {
  readonly client: SettingClient;
  readonly snapshot: Snapshot;
  readonly hash: Fingerprint;
  readonly now: () => number;
}

/** Result of a round. */
export interface Round {
  readonly state: SiteState;
  readonly rows: readonly SiteRow[];
  readonly comparisons: readonly Comparison[];
  readonly results: readonly Pushed[];
  readonly events: readonly SiteEvent[];
}

/**
 * Reads a site, compares it, pushes differences and reads it again.
 *
 * @throws SiteFailure.
 */
export async function runRound(
  site: Site,
  before: SiteState,
  options: RoundOptions,
  { client, snapshot, hash, now }: RoundDeps,
): Promise<Round> {
  const requested = options.keys && new Set(options.keys);
  const isRequested = (key: string): boolean => requested?.has(key) ?? true;
  const reset = options.force === true ? forget(before, isRequested) : before;
  const rows = await client.list();
  const deps = { snapshot, hash };
  const first = compare(rows, site, { ...deps, state: reset });
  const read = { ...reset, ...identityOf(rows) };
  const time = now();
  if (options.aim === "read")
    return {
      state: settled(read, first, { time, pushed: false, snapshot }),
      rows,
      comparisons: first,
      results: [],
      events: [],
    };
  options.signal?.throwIfAborted();
  const differing = first.filter(({ sync, key }) => sync === "differs" && isRequested(key));
  const { corrections, flapping } = corrected(reset, differing, time, options.force === true);
  const wanted = differing
    .filter(({ key }) => !flapping.includes(key))
    .flatMap(({ key, wanted: value, row, secret }): Wanted[] =>
      row === undefined || value === undefined ? [] : [{ key, value, row, secret }],
    );
  const done = wanted.length === 0 ? { results: [], rows } : await push(client, wanted, rows);
  const marked = { ...read, corrections, ...marksOf(reset, wanted, done.results, hash) };
  const isAsItWas = wanted.length === 0 && flapping.length === 0;
  const last = isAsItWas ? first : compare(done.rows, site, { ...deps, state: marked });
  const drifted = new Set(differing.filter((each) => each.drifted).map(({ key }) => key));
  return {
    state: settled(marked, last, { time: now(), pushed: requested === undefined, snapshot }),
    rows: done.rows,
    comparisons: last,
    results: done.results,
    events: eventsOf(done.results, drifted, flapping, {
      time: now(),
      actor: options.actor,
      revision: snapshot.revision,
    }),
  };
}

function forget(state: SiteState, isRequested: (key: string) => boolean): SiteState {
  const keep = <T>(members: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(members).filter(([key]) => !isRequested(key)));
  return { ...state, refused: keep(state.refused), corrections: keep(state.corrections) };
}

function identityOf(rows: readonly SiteRow[]): Pick<SiteState, "kind" | "version" | "known"> {
  const value = (key: string): string => rows.find((row) => row.key === key)?.value ?? "";
  const version = value("version").slice(0, 200).toWellFormed();
  const token = value("token");
  return {
    kind: kindOf(version, token),
    version,
    known: rows
      .filter(isKnown)
      .map(({ key }) => key)
      .slice(0, 2_000),
  };
}

/** A hint for display: both values can be overwritten by any client that saves there. */
function kindOf(version: string, token: string): SiteKind {
  if (token.startsWith("openlist-") || /^v4\./.test(version)) return "openlist";
  if (token.startsWith("alist-") || /^v3\./.test(version)) return "alist";
  return "unknown";
}

/** Counts the corrections of each key. @returns the counts, and the keys that are no longer corrected. */
function corrected(
  { corrections }: SiteState,
  differing: readonly Comparison[],
  time: number,
  force: boolean,
): { readonly corrections: Record<string, KeyCorrections>; readonly flapping: readonly string[] } {
  const next: Record<string, KeyCorrections> = {};
  for (const [key, { times: all, isFlapping }] of Object.entries(corrections)) {
    const times = recentCorrections(all, time);
    if (times.length > 0 || isFlapping) setOwn(next, key, { times, isFlapping });
  }
  const flapping: string[] = [];
  for (const { key, drifted } of differing) {
    if (!drifted || force) {
      delete next[key];
      continue;
    }
    const { times, isFlapping } = countCorrection(ownValue(next, key)?.times ?? [], time);
    if (isFlapping) flapping.push(key);
    setOwn(next, key, { times, isFlapping });
  }
  return { corrections: next, flapping };
}

/** Records of refused and rewritten values. */
function marksOf(
  { refused, rewritten }: SiteState,
  wanted: readonly Wanted[],
  results: readonly Pushed[],
  hash: Fingerprint,
): Pick<SiteState, "refused" | "rewritten"> {
  const nowRefused: Record<string, Refused> = { ...refused };
  const nowRewritten: Record<string, { sent: string; got: string }> = { ...rewritten };
  for (const { key, value } of wanted) {
    const result = results.find((each) => each.key === key);
    delete nowRefused[key];
    delete nowRewritten[key];
    if (result?.outcome === "refused")
      setOwn(nowRefused, key, {
        hash: hash.of(value),
        reason: result.reason,
        code: result.code,
      });
    if (result?.outcome === "rewritten")
      setOwn(nowRewritten, key, { sent: hash.of(value), got: hash.of(result.now) });
  }
  return { refused: nowRefused, rewritten: nowRewritten };
}

/** State after a site was read: it has caught up when nothing differs. */
function settled(
  state: SiteState,
  comparisons: readonly Comparison[],
  { time, pushed, snapshot }: { time: number; pushed: boolean; snapshot: Snapshot },
): SiteState {
  const keysOf = (...statuses: Comparison["sync"][]): string[] =>
    comparisons.filter(({ sync }) => statuses.includes(sync)).map(({ key }) => key);
  const differing = keysOf("differs");
  const byKey = new Map(comparisons.map((each) => [each.key, each]));
  const still = <T>(
    members: Readonly<Record<string, T>>,
    ...statuses: Comparison["sync"][]
  ): Record<string, T> =>
    Object.fromEntries(
      Object.entries(members).filter(([key]) =>
        statuses.includes(byKey.get(key)?.sync ?? "missing"),
      ),
    );
  return {
    ...state,
    reachedAt: time,
    appliedRevision: pushed && differing.length === 0 ? snapshot.revision : state.appliedRevision,
    drift: [...differing, ...keysOf("flapping")],
    missing: keysOf("missing"),
    refused: still(state.refused, "refused"),
    held: still(state.held, "pinned"),
    // Flapping has ended, or the key is about to be left unchanged.
    corrections: Object.fromEntries(
      Object.entries(state.corrections).filter(
        ([key, { isFlapping }]) => !isFlapping || byKey.get(key)?.sync === "flapping",
      ),
    ),
    rewritten: still(state.rewritten, "same"),
    error: undefined,
    failures: 0,
    nextTry: 0,
  };
}

function eventsOf(
  results: readonly Pushed[],
  drifted: ReadonlySet<string>,
  flapping: readonly string[],
  common: Pick<SiteEvent, "time" | "actor" | "revision">,
): SiteEvent[] {
  const events: SiteEvent[] = [];
  const add = (action: string, keys: readonly string[], result: Text): void => {
    if (keys.length > 0) events.push({ ...common, action, keys, result });
  };
  const of = (outcome: Pushed["outcome"], isDrift: boolean): string[] =>
    results
      .filter((each) => each.outcome === outcome && drifted.has(each.key) === isDrift)
      .map(({ key }) => key);
  add("push", of("applied", false), message("THERE_NOW"));
  add("correct", of("applied", true), message("PUT_RIGHT"));
  for (const { key, outcome, reason } of results)
    if (outcome !== "applied")
      add(outcome === "refused" ? "refused" : "push", [key], outcomeText(outcome, reason));
  add("flapping", flapping, message("LEFT_ALONE"));
  return events;
}

function outcomeText(outcome: Exclude<Pushed["outcome"], "applied">, problem: Text): Text {
  const id = `OUTCOME_${outcome.toUpperCase()}` as `OUTCOME_${Uppercase<typeof outcome>}`;
  return message(id, { problem });
}
