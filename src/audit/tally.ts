import { type AuditOrigin, tokenIdOf } from "./entry.ts";
import type { AuditEntry } from "./store.ts";

/** Something that happens too often for a row each time. */
export interface Noted {
  readonly origin: AuditOrigin;
  /** `OK`, or the canonical code of a refusal. */
  readonly outcome: string;
  /** Why it was refused, in a few fixed words. */
  readonly reason?: string;
  /** Names of what it was about. */
  readonly subjects?: readonly string[];
}

/** Kinds of calls that were done, at most; one more has the others written at once. */
const MAX_DONE = 100;
/** Kinds of refused calls of one interval at most; the others share a row for each outcome. */
const MAX_REFUSED = 100;
/** Names of a kind, and its addresses, that are remembered at most. */
const MAX_NAMES = 100;
const MAX_PEERS = 100;
/** Addresses that a row has at most: those with the most calls. */
const SHOWN_PEERS = 10;

interface Kind {
  readonly outcome: string;
  readonly reason: string | undefined;
  readonly actor: string;
  readonly since: number;
  count: number;
  readonly doors: Set<string>;
  readonly methods: Set<string>;
  /** Request id of the first call. */
  readonly requestId: string;
  readonly peers: Map<string, number>;
  /** Calls of addresses beyond those. */
  otherPeers: number;
  readonly subjects: Set<string>;
  /** Most recent list of names, which the next call usually repeats. */
  last: readonly string[] | undefined;
}

/** Counts calls in bounded memory. Refused calls never take the place of those that were done. */
export interface Tally {
  note(noted: Noted): void;
  /** The rows of what was counted since the last time. */
  drain(): readonly AuditEntry[];
}

/** Outcome of a call that was done. */
const OK = "OK";

/**
 * Puts calls together: those that were done by actor, address and method, refused ones by actor and
 * reason. A client without a token has no actor: it can send any number of calls from any address.
 *
 * @param now milliseconds since 1970 UTC.
 * @param write takes rows of calls that were done once there are as many as are kept: each of them has
 *   its actor, however many there are.
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
      const { door, method, peer } = noted.origin;
      kind.count += 1;
      addName(kind.doors, door);
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
    ...{ count: 0, doors: new Set(), methods: new Set() },
    ...{ peers: new Map(), otherPeers: 0, subjects: new Set(), last: undefined },
  };
}

function addName(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(name);
}

/** A column has what all calls share; where they differ, `detail` has a list. */
function entryOf(kind: Kind, time: number): AuditEntry {
  const { outcome, reason, actor, since, count, doors, methods, peers } = kind;
  const many = (names: Set<string>, as: string) => (names.size > 1 ? { [as]: [...names] } : {});
  return {
    ...{ time, actor, tokenId: tokenIdOf(actor), outcome },
    door: only(doors),
    method: only(methods),
    peer: kind.otherPeers === 0 ? only(new Set(peers.keys())) : "",
    requestId: count === 1 ? kind.requestId : "",
    subjects: [...kind.subjects],
    detail: {
      count,
      since: new Date(since).toISOString(),
      ...(reason === undefined ? {} : { reason }),
      ...many(doors, "doors"),
      ...many(methods, "methods"),
      ...(peers.size > 1 ? peersOf(kind) : {}),
    },
  };
}

function only(names: ReadonlySet<string>): string {
  const [name = ""] = names;
  return names.size === 1 ? name : "";
}

/** The addresses with the most calls, and how many calls came from others. */
function peersOf({ peers, otherPeers }: Kind) {
  const most = [...peers].sort(([, one], [, other]) => other - one);
  const rest = most.slice(SHOWN_PEERS).reduce((sum, [, calls]) => sum + calls, otherPeers);
  const shown = Object.fromEntries(most.slice(0, SHOWN_PEERS));
  return { peers: shown, ...(rest > 0 ? { otherPeers: rest } : {}) };
}
