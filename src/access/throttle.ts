import { isIP } from "node:net";

/** Rate limit of failed attempts. */
export interface ThrottleOptions {
  /** Per peer and minute, with a burst of twice as many. 0: no limit. */
  readonly perMinute: number;
  /** Monotonic clock in milliseconds. Default: since the process started. */
  readonly now?: () => number;
  /** Maximum number of tracked peers; the least recently active is dropped. Default: 10,000. */
  readonly peers?: number;
}

/** Counts wrong tokens. Valid tokens are not counted and not delayed. */
export interface Throttle {
  /**
   * Counts a wrong token.
   *
   * @param peer an IP address; empty: unknown. All unknown addresses are one peer.
   * @returns seconds until the peer may send another; 0: it may now.
   */
  wrong(peer: string): number;
  /** Number of tracked peers. */
  readonly size: number;
}

/** Limit of all peers together, as a multiple of the limit of one. */
const ALL = 100;
const MINUTE = 60_000;

/** Token bucket: level at a time. */
interface Bucket {
  level: number;
  at: number;
}

/** Creates a throttle with one token bucket per peer and one for all peers. */
export function createThrottle(options: ThrottleOptions): Throttle {
  const { perMinute, now = () => performance.now(), peers = 10_000 } = options;
  const buckets = new Map<string, Bucket>();
  const all: Bucket = { level: 2 * ALL * perMinute, at: now() };
  /** Takes one token from a bucket. @returns milliseconds until the bucket has one; 0: taken. */
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
      // A map keeps insertion order: the first key is the least recently active peer.
      buckets.delete(network);
      buckets.set(network, bucket);
      if (buckets.size > peers) buckets.delete(buckets.keys().next().value ?? "");
      // A peer whose bucket is empty takes nothing from the common bucket.
      const wait = take(bucket, perMinute) || take(all, ALL * perMinute);
      return Math.ceil(wait / 1000);
    },
    get size() {
      return buckets.size;
    },
  };
}

/**
 * Network that is limited as one peer: an IPv4 address, or the /64 of an IPv6 address, because one
 * customer has at least a /64 (RFC 6177).
 */
export function networkOf(address: string): string {
  const [plain = ""] = address.split("%");
  if (isIP(plain) !== 6) return plain;
  const [head = "", tail] = plain.split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined ? [] : tail.split(":");
  // A dotted suffix stands for two groups, neither among the first four.
  const written = before.length + after.length + (plain.includes(".") ? 1 : 0);
  const zeros = tail === undefined ? 0 : 8 - written;
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(":")}::/64`;
}
