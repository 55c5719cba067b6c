import { servedServices } from "../../src/app/routes.ts";
import * as body from "./kind/body.ts";
import * as flood from "./kind/flood.ts";
import { costlyRequests } from "./kind/request.ts";
import { hostileLists, hostileSite } from "./kind/site.ts";
import * as slow from "./kind/slow.ts";
import { manyStreams } from "./kind/watch.ts";
import { nameOf } from "./request/send.ts";
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
  /** Kind of run that includes the attack, unless it is chosen by its name. Default: both. */
  readonly run?: "quick" | "full";
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

/** Flood at full speed. @param memory see Bounds; higher for attacks that cause much garbage. */
function flooding(name: string, title: string, attack: Attack, { memory } = MEMORY): AttackCase {
  return { name, title, attack, bounds: { memory, ping: 5_000 }, seconds: [1.5, 10] };
}

/** Attack without a token, and the same with it. */
function bothWays(
  stranger: AttackCase,
  { name, ...other }: Pick<AttackCase, "name"> & Partial<AttackCase>,
): readonly AttackCase[] {
  return [stranger, { ...stranger, title: "the same with the token", token: true, name, ...other }];
}

/** Message of a few bytes that takes long to decode. */
function heavyMessage(
  [stranger, holder]: readonly [string, string],
  what: string,
  attack: Attack,
): readonly AttackCase[] {
  const title = `${what}, no token`;
  return bothWays(
    { name: stranger, title, attack, bounds: STEADY, seconds: [1.5, 10] },
    { name: holder, bounds: WORK, seconds: [2, 10] },
  );
}

/** @param title see AttackCase. It lasts until all of its requests are answered. */
function requestCase(name: string, title: string): Omit<AttackCase, "attack"> {
  return { name, title, token: true, bounds: { memory: 64 }, seconds: [30, 300] };
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
  ...bothWays(
    {
      name: "bodies",
      title: "1,000 streams of bodies that never end, no token",
      attack: body.unfinishedBodies,
      bounds: MEMORY,
      seconds: [3, 15],
    },
    { name: "bodies-token", bounds: WORK },
  ),
  ...heavyMessage(
    ["gzip-bomb", "gzip-token"],
    "4 kB of gzip that are 4 MB of empty lists",
    body.gzipBomb,
  ),
  ...heavyMessage(["json", "json-token"], "4 MB of JSON", body.wideJson),
  ...heavyMessage(["proto", "proto-token"], "4 MB of protobuf", body.wideProto),
  flooding(
    "slivers",
    "bodies that come a byte at a time among frames that mean nothing, no token",
    flood.slivers,
    { memory: 100 },
  ),
  {
    name: "spaces",
    title: "300 MB of spaces, left before the end, with the token",
    attack: body.spaces,
    token: true,
    bounds: WORK,
    seconds: [5, 5],
  },
  {
    name: "reflection",
    title: "8 streams of reflection that never read",
    attack: slow.stalledReflection,
    bounds: STEADY,
    seconds: [3, 15],
  },
  {
    ...flooding(
      "cancelled",
      "895 calls of a connection cancelled in 2.6 s",
      flood.cancelledStreams,
    ),
    seconds: [3, 3],
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
  ...bothWays(
    {
      name: "slow-bodies",
      title: "600 connections whose bodies come byte by byte",
      attack: slow.slowBodies,
      bounds: STEADY,
      seconds: [2, 30],
    },
    { name: "slow-bodies-token" },
  ),
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
    ...requestCase(`requests-${service.name}`, `each rpc of ${service.name}, its costliest forms`),
    attack: costlyRequests({ methods: service.methods, isFull: false }),
    run: "quick" as const,
  })),
  ...servedServices
    .flatMap(({ methods }) => methods)
    .map((method) => ({
      ...requestCase(nameOf(method), `${nameOf(method)} in its costliest forms, every transport`),
      attack: costlyRequests({ methods: [method], isFull: true }),
      run: "full" as const,
    })),
];
