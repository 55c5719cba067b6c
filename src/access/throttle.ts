import { isIP } from "node:net";

/** Rate limit of failed attempts. */
export interface ThrottleOptions {
  /** Per peer and minute, with a burst of twice as many. 0: no limit. */
  readonly perMinute: number;
  /** Milliseconds that never run backwards. Default: since the process started. */
  readonly now?: () => number;
  /** Peers that are kept apart at a time; the one that was quiet longest is forgotten. Default 10,000. */
  readonly peers?: number;
}

/** Counts wrong tokens. Who sends a right one is never counted and never waits. */
export interface Throttle {
  /**
   * Counts a wrong token.
   *
   * @param peer an IP address; empty: unknown, all of these are one peer.
   * @returns seconds after which the peer may send another, 0 while it still may now.
   */
  wrong(peer: string): number;
  /** Peers that are kept. */
  readonly size: number;
}

/** Limit of all peers together, as a multiple of the limit of one. */
const ALL = 100;
const MINUTE = 60_000;

/** Tokens left at a moment. */
interface Bucket {
  level: number;
  at: number;
}

/** Makes token buckets, one for each peer and one for all. */
export function createThrottle(options: ThrottleOptions): Throttle {
  const { perMinute, now = () => performance.now(), peers = 10_000 } = options;
  const buckets = new Map<string, Bucket>();
  const all: Bucket = { level: 2 * ALL * perMinute, at: now() };
  /** @returns milliseconds until the bucket holds one again; 0: one was taken. */
  const take = (bucket: Bucket, rate: number): number => {
    const time = now();
    bucket.level = Math.min(2 * rate, bucket.level + ((time - bucket.at) / MINUTE) * rate);
    bucket.at = time;
    if (bucket.level < 1) return ((1 - bucket.level) / rate) * MINUTE;
    bucket.level -= 1;
    return 0;
  };
  return {
    wrong: (peer) => {
      if (perMinute === 0) return 0;
      const network = networkOf(peer);
      const bucket = buckets.get(network) ?? { level: 2 * perMinute, at: now() };
      // The order of a map is that of setting: the first one was quiet longest.
      buckets.delete(network);
      buckets.set(network, bucket);
      if (buckets.size > peers) buckets.delete(buckets.keys().next().value ?? "");
      // A peer that has used up its own takes nothing from the others.
      const wait = take(bucket, perMinute) || take(all, ALL * perMinute);
      return Math.ceil(wait / 1000);
    },
    get size() {
      return buckets.size;
    },
  };
}

/**
 * Whom an address belongs to: an IPv4 address to itself, an IPv6 address to its /64, which one
 * customer has at least (RFC 6177).
 */
export function networkOf(address: string): string {
  const [plain = ""] = address.split("%");
  if (isIP(plain) !== 6) return plain;
  const [head = "", tail] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  // A dotted suffix stands for two groups, neither among the first four.
  const written = before.length + after.length + (plain.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? 0 : 8 - written;
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
