import type { AuditEntry } from "../../store/audit-store.ts";
import { type AuditOrigin, tokenIdOf } from "./entry.ts";

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

/** Kinds of one interval that are kept apart at most; the others share a row for each outcome. */
const MAX_KINDS = 100;
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
  /** Of the first call. */
  readonly requestId: string;
  readonly peers: Map<string, number>;
  /** Calls of addresses beyond those. */
  otherPeers: number;
  readonly subjects: Set<string>;
  /** What was added to them last, which is mostly what is added next. */
  last: readonly string[] | undefined;
}

/** Counts calls in bounded memory, whoever makes them. */
export interface Tally {
  note(noted: Noted): void;
  /** The rows of what was counted since the last time. */
  drain(): readonly AuditEntry[];
}

/**
 * Puts calls together: those that were let in by who made them and what was asked or refused, all
 * others by why they were refused, because whoever has no token can send any number from anywhere.
 *
 * @param now milliseconds since 1970 UTC.
 */
export function createTally(now: () => number): Tally {
  let kinds = new Map<string, Kind>();
  const kindOf = ({ origin, outcome, reason }: Noted): Kind => {
    const { actor, peer, method } = origin;
    const whose = actor === "" ? "" : `${actor} ${peer}`;
    const key = `${outcome} ${reason} ${whose} ${outcome === "OK" ? method : ""}`;
    const known = kinds.get(key);
    if (known !== undefined) return known;
    const isFull = kinds.size >= MAX_KINDS;
    const rest = `${outcome} and others`;
    const shared = isFull ? kinds.get(rest) : undefined;
    if (shared !== undefined) return shared;
    const { requestId } = origin;
    const made = newKind({ outcome, reason, actor: isFull ? "" : actor, since: now(), requestId });
    kinds.set(isFull ? rest : key, made);
    return made;
  };
  return {
    note: (noted) => {
      const kind = kindOf(noted);
      const { door, method, peer } = noted.origin;
      kind.count += 1;
      add(kind.doors, door);
      add(kind.methods, method);
      if (kind.peers.size < MAX_PEERS || kind.peers.has(peer))
        kind.peers.set(peer, (kind.peers.get(peer) ?? 0) + 1);
      else kind.otherPeers += 1;
      const { subjects } = noted;
      if (subjects === undefined || subjects === kind.last) return;
      kind.last = subjects;
      for (const name of subjects) add(kind.subjects, name);
    },
    drain: () => {
      const counted = [...kinds.values()];
      kinds = new Map();
      return counted.map((kind) => entryOf(kind, now()));
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

function add(names: Set<string>, name: string): void {
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
