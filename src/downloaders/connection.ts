import type { ClientRequest } from "node:http";
import { isIP, type LookupFunction } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { Step, Target } from "./failure.ts";

/** Time limit and network options of a client. */
export interface ClientOptions {
  /**
   * Time limit of one call: look-up, connect, TLS, all requests and replies. In milliseconds;
   * default: 5000.
   */
  readonly timeoutMs?: number;
  /**
   * Certificate authorities in PEM that are trusted instead of the runtime's own list. By default
   * that list, with those of NODE_EXTRA_CA_CERTS.
   */
  readonly ca?: string | string[];
  /** Asynchronous look-up of host names; default: `dns.lookup`. */
  readonly lookup?: LookupFunction;
}

/** Context shared by all exchanges of one call. */
export interface Connection {
  readonly target: Target;
  readonly signal: AbortSignal;
  readonly network: NetworkOptions;
}

/** Options that `node:http`, `node:https` and `ws` share. */
export type NetworkOptions = SecureContextOptions & {
  readonly maxHeaderSize: number;
  readonly lookup?: LookupFunction;
};

export const DEFAULT_TIMEOUT_MS = 5_000;
/** Maximum size of a reply, in bytes. */
export const MAX_REPLY_BYTES = 65_536;
const MAX_HEADER_BYTES = 16_384;

/** The network options of a client, with the limit of a reply's headers (16 KiB) set explicitly. */
export function networkOptions({ ca, lookup }: ClientOptions): NetworkOptions {
  return {
    maxHeaderSize: MAX_HEADER_BYTES,
    ...(ca === undefined ? {} : { ca }),
    ...(lookup === undefined ? {} : { lookup }),
  };
}

/** Reports whether a URL's scheme uses TLS. */
export function isSecure(url: URL): boolean {
  return url.protocol === "https:" || url.protocol === "wss:";
}

/** Observes a request's socket; the returned function gives its current step. */
export function watchSteps(request: ClientRequest, url: URL): () => Step {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  let step: Step = isIP(host) === 0 ? "DNS lookup" : "connect";
  request.once("socket", (socket) => {
    socket.on("lookup", (error: Error | null) => {
      if (!error) step = "connect";
    });
    socket.once("connect", () => {
      step = isSecure(url) ? "TLS" : "reply";
    });
    socket.once("secureConnect", () => {
      step = "reply";
    });
  });
  return () => step;
}

/**
 * A program's version in its own notation (`1.36.0`, `v4.5.2`, `v5.0.0beta1`), or undefined for
 * anything else. It is displayed, so that only 64 harmless characters are accepted, beginning with
 * a digit.
 */
export function readVersion(value: unknown): string | undefined {
  return typeof value === "string" && /^v?\d[\w.+~-]{0,62}$/.test(value) ? value : undefined;
}
