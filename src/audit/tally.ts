import { type AuditOrigin, tokenIdOf } from "./entry.ts";
import type { AuditEntry } from "./store.ts";
import { MAX_NAMES, subjectParts } from "./subject-part.ts";

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
/** Maximum number of names of all groups of completed calls; further ones flush them. */
const MAX_ALL_NAMES = 20_000;
/** Maximum number of addresses that are counted one by one for a group. */
const MAX_PEERS = 100;
/** Maximum number of addresses of a row: those with the most calls. */
const SHOWN_PEERS = 10;

/** Calls that share a row. */
interface Group {
  readonly outcome: string;
  readonly reason: string | undefined;
  /** Empty: any actor. */
  readonly actor: string;
  /** Time of the first call, in milliseconds since 1970 UTC. */
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
interface Tally {
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
  let done = new Map<string, Group>();
  let refused = new Map<string, Group>();
  const add = (groups: Map<string, Group>, key: string, noted: Noted, actor: string): Group => {
    const { outcome, reason, origin } = noted;
    const made = newGroup({ outcome, reason, actor, since: now(), requestId: origin.requestId });
    groups.set(key, made);
    return made;
  };
  const rowsOf = (groups: ReadonlyMap<string, Group>): AuditEntry[] =>
    [...groups.values()].flatMap((group) => entriesOf(group, now()));
  /** Names of the groups of completed calls. */
  let names = 0;
  const flush = (): void => {
    const rows = rowsOf(done);
    done = new Map();
    names = 0;
    write(rows);
  };
  const groupOfDone = (noted: Noted): Group => {
    const { actor, peer, method } = noted.origin;
    const key = `${noted.reason} ${actor} ${peer} ${method}`;
    const known = done.get(key);
    if (known !== undefined) return known;
    if (done.size >= MAX_DONE) flush();
    return add(done, key, noted, actor);
  };
  const groupOfRefused = (noted: Noted): Group => {
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
      const group = noted.outcome === OK ? groupOfDone(noted) : groupOfRefused(noted);
      const { transport, method, peer } = noted.origin;
      group.count += 1;
      addName(group.transports, transport);
      addName(group.methods, method);
      if (group.peers.size < MAX_PEERS || group.peers.has(peer))
        group.peers.set(peer, (group.peers.get(peer) ?? 0) + 1);
      else group.otherPeers += 1;
      const { subjects } = noted;
      if (subjects === undefined || subjects === group.last) return;
      group.last = subjects;
      if (noted.outcome !== OK) {
        for (const name of subjects) addName(group.subjects, name);
        return;
      }
      // Every name that was read is in a row.
      const before = group.subjects.size;
      for (const name of subjects) group.subjects.add(name);
      names += group.subjects.size - before;
      if (names > MAX_ALL_NAMES) flush();
    },
    drain: () => {
      const rows = [...rowsOf(done), ...rowsOf(refused)];
      done = new Map();
      refused = new Map();
      names = 0;
      return rows;
    },
  };
}

function newGroup(of: Pick<Group, "outcome" | "reason" | "actor" | "since" | "requestId">): Group {
  return {
    ...of,
    count: 0,
    transports: new Set(),
    methods: new Set(),
    peers: new Map(),
    otherPeers: 0,
    subjects: new Set(),
    last: undefined,
  };
}

function addName(names: Set<string>, name: string): void {
  if (names.size < MAX_NAMES) names.add(name);
}

/** The row of a group; further rows if its names do not fit into one. */
function entriesOf(group: Group, time: number): AuditEntry[] {
  const entry = entryOf(group, time);
  const [first = [], ...more] = subjectParts(entry.subjects);
  const { since } = entry.detail;
  return [
    { ...entry, subjects: first },
    ...more.map((subjects, at) => ({
      ...entry,
      subjects,
      detail: { since: since ?? "", part: at + 2 },
    })),
  ];
}

/** A column has the value that all calls of a group share; different values are a list in `detail`. */
function entryOf(group: Group, time: number): AuditEntry {
  const { outcome, reason, actor, since, count, transports, methods, peers } = group;
  const many = (names: Set<string>, as: string) => (names.size > 1 ? { [as]: [...names] } : {});
  return {
    time,
    actor,
    tokenId: tokenIdOf(actor),
    outcome,
    transport: only(transports),
    method: only(methods),
    peer: group.otherPeers === 0 ? only(new Set(peers.keys())) : "",
    requestId: count === 1 ? group.requestId : "",
    subjects: [...group.subjects],
    detail: {
      count,
      since: new Date(since).toISOString(),
      ...(reason === undefined ? {} : { reason }),
      ...many(transports, "transports"),
      ...many(methods, "methods"),
      ...(peers.size > 1 ? peersOf(group) : {}),
    },
  };
}

function only(names: ReadonlySet<string>): string {
  const [name = ""] = names;
  return names.size === 1 ? name : "";
}

/** Addresses with the most calls, and the number of calls from others. */
function peersOf({ peers, otherPeers }: Group) {
  const most = [...peers].sort(([, one], [, other]) => other - one);
  const rest = most.slice(SHOWN_PEERS).reduce((sum, [, calls]) => sum + calls, otherPeers);
  const shown = Object.fromEntries(most.slice(0, SHOWN_PEERS));
  return { peers: shown, ...(rest > 0 ? { otherPeers: rest } : {}) };
}
