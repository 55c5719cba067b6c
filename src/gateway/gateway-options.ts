import type { DescMethod } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { Call, Method } from "../rpc/method.ts";
import type { Cors } from "./cors.ts";
import type { TagPrefix } from "./entity-tag.ts";
import type { EventStreamOptions } from "./event-stream.ts";

/** What a gateway serves, and how. */
export interface GatewayOptions {
  /** Methods with their implementation; those without a `google.api.http` option are passed over. */
  readonly methods: readonly Method[];
  /**
   * HTTP status of replies that carry the envelope: always 200 (`envelope`), or the envelope's code
   * (`code`). Replies without an envelope have their real status in both cases.
   */
  readonly httpStatus: "envelope" | "code";
  /**
   * Cache-Control of an rpc's successful reads, asked once for each state of a reply. Default:
   * `private, no-store`. Everything else is `no-store`.
   */
  readonly cacheControl?: (method: DescMethod) => string;
  /**
   * Goes before the state in entity tags and event ids, so that those of two databases can't be
   * mistaken for each other. Characters of an entity tag without quote and percent sign. A function
   * where it is known only after the start; what it throws is the reply. Default: empty.
   */
  readonly etagPrefix?: string | (() => string);
  /** Largest request body in bytes. Default 1,048,576. */
  readonly bodyLimit?: number;
  /** Cross-origin headers of every reply, and preflights on the gateway's own paths. */
  readonly cors?: Cors;
  /** Aborted when the server stops: ends open streams. */
  readonly stopping?: AbortSignal;
  /**
   * Asked before the gateway itself refuses a request (wrong parameter, not JSON, too large). What
   * it throws is answered instead, so that a client without credentials learns only that it needs
   * them. Requests that are in order go to the rpc, which checks for itself.
   */
  readonly admit?: (method: DescMethod, call: Call) => void | Promise<void>;
  /**
   * Told of requests for an rpc that never reach it, because the gateway or `admit` refuses them:
   * the rpc's own interceptors hear nothing of them.
   */
  readonly refused?: (error: ConnectError, method: DescMethod, call: Call) => void;
  /** Told of errors whose words are masked because no client may read them. */
  readonly report?: (error: unknown, call: Call) => void;
  readonly events?: EventStreamOptions;
}

/** What goes before a state in entity tags and event ids. */
export function tagPrefix({ etagPrefix = "" }: GatewayOptions): TagPrefix {
  return typeof etagPrefix === "string" ? () => etagPrefix : etagPrefix;
}
