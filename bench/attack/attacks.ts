import { servedServices } from "../../src/app/routes.ts";
import * as body from "./kind/body.ts";
import * as flood from "./kind/flood.ts";
import { costlyRequests } from "./kind/request.ts";
import { hostileLists, hostileSite } from "./kind/site.ts";
import * as slow from "./kind/slow.ts";
import { manyStreams } from "./kind/watch.ts";
import type { Attack } from "./target.ts";

/** Bounds of a server during an attack. */
export interface Bounds {
  /** Growth of resident memory, in MB. */
  readonly memory: number;
  /**
   * Time that `/ping` may always take, in milliseconds. Default: one event-loop tick. A flood at
   * full speed takes its share of the processor like any load.
   */
  readonly ping?: number;
  /** Median time of a save, as a multiple of that before the attack. Undefined: not checked. */
  readonly save?: number;
  /**
   * Memory in MB of the mounts, incidents and sites that the attack stores: the service has them
   * afterwards too, and the next attack begins with a new server. Undefined: it stores nothing.
   */
  readonly stored?: number;
}

/** Attack with the bounds that must hold. */
export interface AttackCase {
  readonly name: string;
  readonly title: string;
  readonly attack: Attack;
  /** Whether the attacker has the admin token. */
  readonly token?: true;
  /** Bytes of public settings that are saved before the attack. */
  readonly publicBytes?: number;
  readonly bounds: Bounds;
  /** Duration in seconds, in a quick run and in a full one. */
  readonly seconds: readonly [number, number];
}

/**
 * Bound for attacks on limited resources: request bodies have 64 MiB together, a single peer half.
 */
const MEMORY = { memory: 60 };
/** Bounds for large amounts below full speed. */
const STEADY = { ...MEMORY, ping: 250 };
/** Bounds for messages that are decoded, several at a time, in ticks of at most 20 ms. */
const WORK = { memory: 100, ping: 250 };
/** Memory of 2,000 mounts with texts of 1 kB, their history, and 1,000 incidents, in MB. */
const STORED = 40;

/** Flood at full speed. @param bounds see Bounds; higher for attacks that cause much garbage. */
function flooding(name: string, title: string, attack: Attack, bounds = MEMORY): AttackCase {
  return { name, title, attack, bounds: { ...bounds, ping: 5_000 }, seconds: [1.5, 10] };
}

/** Messages of a few bytes, or of megabytes of small values, that take long to decode. */
function heavy(name: string, title: string, attack: Attack): AttackCase {
  return { name, title, attack, token: true, bounds: WORK, seconds: [2, 10] };
}

export const attacks: readonly AttackCase[] = [
  {
    name: "watchers",
    title: "1,300 stalled watchers, 1 MB of public settings",
    attack: slow.stalledWatchers,
    publicBytes: 1_000_000,
    bounds: { memory: 150, save: 2, ping: 250 },
    seconds: [6, 40],
  },
  {
    name: "bodies",
    title: "1,000 streams of bodies that never end, no token",
    attack: body.unfinishedBodies,
    bounds: MEMORY,
    seconds: [3, 15],
  },
  {
    name: "bodies-token",
    title: "1,000 streams of bodies that never end, with the token",
    attack: body.unfinishedBodies,
    token: true,
    bounds: WORK,
    seconds: [3, 15],
  },
  heavy("gzip-bomb", "4 kB of gzip that are 4 MB of empty lists", body.gzipBomb),
  heavy("json", "4 MB of JSON", body.wideJson),
  heavy("proto", "4 MB of protobuf", body.wideProto),
  flooding(
    "slivers",
    "bodies that come a byte at a time among frames that mean nothing, no token",
    flood.slivers,
    { memory: 100 },
  ),
  {
    name: "reflection",
    title: "8 streams of reflection that never read",
    attack: slow.stalledReflection,
    bounds: STEADY,
    seconds: [3, 15],
  },
  flooding("rapid-reset", "streams reset as fast as they are opened", flood.rapidReset, {
    memory: 80,
  }),
  flooding("continuation", "headers without end (CONTINUATION)", flood.continuationFlood),
  flooding("settings", "SETTINGS without end", flood.settingsFlood),
  flooding("ping", "PING without end", flood.pingFlood),
  flooding("hpack", "4 kB of headers for each byte (HPACK)", flood.hpackBomb),
  flooding("wrong-tokens", "wrong tokens as fast as they are refused", flood.wrongTokens, {
    memory: 100,
  }),
  {
    name: "slow-headers",
    title: "600 connections whose headers come byte by byte",
    attack: slow.slowHeaders,
    bounds: STEADY,
    seconds: [2, 30],
  },
  ...servedServices
    .flatMap(({ methods }) => methods)
    .filter(({ methodKind }) => methodKind === "server_streaming")
    .map((method) => ({
      name: `streams-${method.name}`,
      title: `100 streams of ${method.name} of one token, 2,000 mounts, 1,000 incidents`,
      attack: manyStreams(method),
      token: true as const,
      bounds: { ...WORK, stored: STORED },
      seconds: [15, 30] as const,
    })),
  ...Object.entries(hostileLists).map(([name, { title, lists }]) => ({
    name: `site-${name}`,
    title,
    attack: hostileSite(lists),
    token: true as const,
    bounds: { memory: 128, ping: 250, stored: STORED },
    seconds: [10, 60] as const,
  })),
  ...servedServices.map((service) => ({
    name: `requests-${service.name}`,
    title: `each rpc of ${service.name}, its costliest forms`,
    attack: costlyRequests(service),
    token: true as const,
    bounds: { memory: 64 },
    // It ends when all are answered.
    seconds: [30, 1_800] as const,
  })),
];
