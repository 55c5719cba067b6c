import { type AuditOrigin, tokenIdOf } from "./entry.ts";
import type { AuditEntry } from "./store.ts";

/** Call that is counted, because such calls are too frequent for a row each. */
export interface Noted {
  readonly origin: AuditOrigin;
  /** `OK`, or the canonical code of a refusal. */
  readonly outcome: string;
  /** Reason of a refusal, one of a few fixed texts. */
  readonly reason?: string;
  /** Names of the objects of the call. */
  readonly subjects?: readonly string[];
}

/** Maximum number of groups of completed calls; another one flushes them. */
const MAX_DONE = 100;
/** Maximum number of groups of refused calls per interval; further ones share a row per outcome. */
const MAX_REFUSED = 100;
/** Maximum number of names and of addresses of a group. */
const MAX_NAMES = 100;
const MAX_PEERS = 100;
/** Maximum number of addresses of a row: those with the most calls. */
const SHOWN_PEERS = 10;

interface Kind {
  readonly outcome: string;
  readonly reason: string | undefined;
  readonly actor: string;
  readonly since: number;
  count: number;
  readonly transports: Set<string>;
  readonly methods: Set<string>;
  /** Request id of the first call. */
  readonly requestId: string;
  readonly peers: Map<string, number>;
  /** Calls from further addresses. */
  otherPeers: number;
  readonly subjects: Set<string>;
  /** Most recent list of names, which the next call usually repeats. */
  last: readonly string[] | undefined;
}

/** Counts calls in bounded memory. Refused calls never displace completed ones. */
export interface Tally {
  note(noted: Noted): void;
  /** Returns the entries counted since the last drain. */
  drain(): readonly AuditEntry[];
}

/** Outcome of a completed call. */
const OK = "OK";

/**
 * Groups completed calls by actor, address and method, and refused ones by actor and reason. An
 * unauthenticated client has no actor: it can send any number of calls from any address.
 *
 * @param now milliseconds since 1970 UTC.
 * @param write receives the entries of completed calls when their groups are full, so that each keeps
 *   its actor.
 */
export function createTally(
  now: () => number,
  write: (entries: readonly AuditEntry[]) => void,
): Tally {
  let done = new Map<string, Kind>();
  let refused = new Map<string, Kind>();
  const add = (kinds: Map<string, Kind>, key: string, noted: Noted, actor: string): Kind => {
    const { outcome, reason, origin } = noted;
    const made = newKind({ outcome, reason, actor, since: now(), requestId: origin.requestId });
    kinds.set(key, made);
    return made;
  };
  const rowsOf = (kinds: ReadonlyMap<string, Kind>): AuditEntry[] =>
    [...kinds.values()].map((kind) => entryOf(kind, now()));
  const kindOfDone = (noted: Noted): Kind => {
    const { actor, peer, method } = noted.origin;
    const key = `${noted.reason} ${actor} ${peer} ${method}`;
    const known = done.get(key);
    if (known !== undefined) return known;
    if (done.size >= MAX_DONE) {
      const rows = rowsOf(done);
      done = new Map();
      write(rows);
    }
    return add(done, key, noted, actor);
  };
  const kindOfRefused = (noted: Noted): Kind => {
    const { outcome, reason, origin } = noted;
    const key = `${outcome} ${reason} ${origin.actor}`;
    const rest = `${outcome} and others`;
    const isFull = refused.size >= MAX_REFUSED;
    const known = refused.get(key) ?? (isFull ? refused.get(rest) : undefined);
    if (known !== undefined) return known;
    return isFull ? add(refused, rest, noted, "") : add(refused, key, noted, origin.actor);
  };
  return {
    note: (noted) => {
      const kind = noted.outcome === OK ? kindOfDone(noted) : kindOfRefused(noted);
      const { transport, method, peer } = noted.origin;
      kind.count += 1;
      addName(kind.transports, transport);
      addName(kind.methods, method);
      if (kind.peers.size < MAX_PEERS || kind.peers.has(peer))
        kind.peers.set(peer, (kind.peers.get(peer) ?? 0) + 1);
      else kind.otherPeers += 1;
      const { subjects } = noted;
      if (subjects === undefined || subjects === kind.last) return;
      kind.last = subjects;
      for (const name of subjects) addName(kind.subjects, name);
    },
    drain: () => {
      const rows = [...rowsOf(done), ...rowsOf(refused)];
      done = new Map();
      refused = new Map();
      return rows;
    },
  };
}

function newKind(of: Pick<Kind, "outcome" | "reason" | "actor" | "since" | "requestId">): Kind {
  return {
    ...of,
    ...{ count: 0, transports: new Set(), methods: new Set() },
    ...{ peers: new Map(), otherPeers: 0, subjects: new Set(), last: undefined },
  };
}

function addName(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(name);
}

/** A column has the value that all calls of a group share; different values are a list in `detail`. */
function entryOf(kind: Kind, time: number): AuditEntry {
  const { outcome, reason, actor, since, count, transports, methods, peers } = kind;
  const many = (names: Set<string>, as: string) => (names.size > 1 ? { [as]: [...names] } : {});
  return {
    ...{ time, actor, tokenId: tokenIdOf(actor), outcome },
    transport: only(transports),
    method: only(methods),
    peer: kind.otherPeers === 0 ? only(new Set(peers.keys())) : "",
    requestId: count === 1 ? kind.requestId : "",
    subjects: [...kind.subjects],
    detail: {
      count,
      since: new Date(since).toISOString(),
      ...(reason === undefined ? {} : { reason }),
      ...many(transports, "doors"),
      ...many(methods, "methods"),
      ...(peers.size > 1 ? peersOf(kind) : {}),
    },
  };
}

function only(names: ReadonlySet<string>): string {
  const [name = ""] = names;
  return names.size === 1 ? name : "";
}

/** Addresses with the most calls, and the number of calls from others. */
function peersOf({ peers, otherPeers }: Kind) {
  const most = [...peers].sort(([, one], [, other]) => other - one);
  const rest = most.slice(SHOWN_PEERS).reduce((sum, [, calls]) => sum + calls, otherPeers);
  const shown = Object.fromEntries(most.slice(0, SHOWN_PEERS));
  return { peers: shown, ...(rest > 0 ? { otherPeers: rest } : {}) };
}
