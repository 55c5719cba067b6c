import type { HandlerContext } from "@connectrpc/connect";
import { unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { startPeriodic } from "../periodic.ts";
import { type AuditOrigin, auditOriginOf, doneEntry, tokenIdOf } from "./entry.ts";
import type { AuditEntry, AuditStore } from "./store.ts";

/** Maximum number of pending rows while the database is unavailable. */
const MAX_WAITING = 1_000;

/** Completed action, for {@link doneEntry}. */
interface Done {
  readonly origin: AuditOrigin;
  readonly subjects: readonly string[];
  readonly detail: AuditEntry["detail"];
  /** Whether the action must fail without its row; otherwise the row may be written later. */
  readonly isNeeded: boolean;
}

/** Writes rows that belong to no change. */
export interface Recorder {
  /** Counts a call; its row is written within the interval. */
  note(noted: Noted): void;
  /**
   * Writes the row of a completed action; many subjects are divided into rows.
   *
   * @throws UNAVAILABLE if `isNeeded` and the row cannot be written.
   */
  record(done: Done): Promise<void>;
  /** Writes pending rows. */
  close(): Promise<void>;
}

export interface RecorderDeps {
  readonly store: Pick<AuditStore, "append">;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** Interval in which counted calls are written, in milliseconds. */
  readonly interval: number;
  /** Called when rows cannot be written, with the number of dropped rows. */
  readonly onError: (error: unknown, dropped: number) => void;
}

export function createRecorder({ store, now, interval, onError }: RecorderDeps): Recorder {
  let waiting: readonly AuditEntry[] = [];
  let writing: Promise<void> | undefined;
  /** @returns the number of dropped rows. */
  const keep = (rows: readonly AuditEntry[]): number => {
    waiting = newest(rows);
    return rows.length - waiting.length;
  };
  const writeAll = async (): Promise<void> => {
    do {
      const rows = [...waiting, ...tally.drain()];
      waiting = [];
      try {
        await store.append(rows);
      } catch (error) {
        onError(error, keep([...rows, ...waiting]));
        return;
      }
    } while (waiting.length > 0);
  };
  /** Serialized: rows that arrive during a write are written after it. */
  const write = (): Promise<void> => {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  };
  const tally = createTally(now, (rows) => {
    const dropped = keep([...waiting, ...rows]);
    if (dropped > 0) onError(new Error("rows arrive faster than they can be written"), dropped);
    void write();
  });
  // `write` reports its failures itself, with the number of dropped rows.
  const job = startPeriodic(write, { interval, onError: (error) => onError(error, 0) });
  return {
    note: tally.note,
    record: async ({ origin, subjects, detail, isNeeded }) => {
      const entries = inParts(subjects).map((part, at) =>
        doneEntry(origin, now(), part, at === 0 ? detail : { ...detail, part: at + 1 }),
      );
      try {
        await store.append(entries);
      } catch (error) {
        if (isNeeded)
          throw unavailable(
            message("AUDIT_NOT_WRITTEN", { reason: error instanceof Error ? error.message : "" }),
            error,
          );
        onError(error, keep([...waiting, ...entries]));
      }
    },
    close: async () => {
      await job.stop();
      await writing;
      await write();
    },
  };
}

/**
 * The newest rows within the bound: the oldest refusals are dropped first, then the oldest rows.
 */
function newest(rows: readonly AuditEntry[]): readonly AuditEntry[] {
  let surplus = rows.length - MAX_WAITING;
  if (surplus <= 0) return rows;
  const kept = rows.filter(({ outcome }) => {
    if (surplus <= 0 || outcome === "OK") return true;
    surplus -= 1;
    return false;
  });
  return kept.slice(-MAX_WAITING);
}

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
/** Maximum number of names and of addresses of a row. */
const MAX_NAMES = 100;
/** Maximum number of characters of the names of a row; the audit cuts longer texts. */
const MAX_NAME_LENGTH = 3_900;
/** Maximum number of names of all groups of completed calls; further ones flush them. */
const MAX_ALL_NAMES = 20_000;
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
  let done = new Map<string, Kind>();
  let refused = new Map<string, Kind>();
  const add = (kinds: Map<string, Kind>, key: string, noted: Noted, actor: string): Kind => {
    const { outcome, reason, origin } = noted;
    const made = newKind({ outcome, reason, actor, since: now(), requestId: origin.requestId });
    kinds.set(key, made);
    return made;
  };
  const rowsOf = (kinds: ReadonlyMap<string, Kind>): AuditEntry[] =>
    [...kinds.values()].flatMap((kind) => entriesOf(kind, now()));
  /** Names of the groups of completed calls. */
  let names = 0;
  const flush = (): void => {
    const rows = rowsOf(done);
    done = new Map();
    names = 0;
    write(rows);
  };
  const kindOfDone = (noted: Noted): Kind => {
    const { actor, peer, method } = noted.origin;
    const key = `${noted.reason} ${actor} ${peer} ${method}`;
    const known = done.get(key);
    if (known !== undefined) return known;
    if (done.size >= MAX_DONE) flush();
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
      if (noted.outcome !== OK) {
        for (const name of subjects) addName(kind.subjects, name);
        return;
      }
      // Every name that was read is in a row.
      const before = kind.subjects.size;
      for (const name of subjects) kind.subjects.add(name);
      names += kind.subjects.size - before;
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

function newKind(of: Pick<Kind, "outcome" | "reason" | "actor" | "since" | "requestId">): Kind {
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

/** Divides names so that each part fits into a row; at least one part. */
export function inParts(names: readonly string[]): readonly (readonly string[])[] {
  const parts: string[][] = [[]];
  let length = 0;
  for (const name of names) {
    const last = parts.at(-1) ?? [];
    if (last.length >= MAX_NAMES || (last.length > 0 && length + name.length > MAX_NAME_LENGTH)) {
      parts.push([name]);
      length = name.length;
    } else {
      last.push(name);
      length += name.length;
    }
  }
  return parts;
}

/** The row of a group; further rows if its names do not fit into one. */
function entriesOf(kind: Kind, time: number): AuditEntry[] {
  const entry = entryOf(kind, time);
  const [first = [], ...more] = inParts(entry.subjects);
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
function entryOf(kind: Kind, time: number): AuditEntry {
  const { outcome, reason, actor, since, count, transports, methods, peers } = kind;
  const many = (names: Set<string>, as: string) => (names.size > 1 ? { [as]: [...names] } : {});
  return {
    time,
    actor,
    tokenId: tokenIdOf(actor),
    outcome,
    transport: only(transports),
    method: only(methods),
    peer: kind.otherPeers === 0 ? only(new Set(peers.keys())) : "",
    requestId: count === 1 ? kind.requestId : "",
    subjects: [...kind.subjects],
    detail: {
      count,
      since: new Date(since).toISOString(),
      ...(reason === undefined ? {} : { reason }),
      ...many(transports, "transports"),
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

/** Audit entry of a dry run with values for secrets that its caller may not read. */
export function dryRunOf(context: HandlerContext, subjects: readonly string[]): Noted {
  return { origin: auditOriginOf(context), outcome: "OK", reason: "dry run", subjects };
}
