import {
  createRegistry,
  type DescFile,
  type DescMethod,
  type DescService,
  type Registry,
} from "@bufbuild/protobuf";
import type { ConnectError, Interceptor, Transport } from "@connectrpc/connect";
import { type PeerOf, plainAddress } from "../transport/address.ts";
import {
  type BodyBounds,
  Buffered,
  Fault,
  type MessageLimits,
  RequestAborted,
} from "../transport/body.ts";
import { MESSAGE_LIMITS } from "../transport/decode.ts";
import type { Call } from "./call.ts";
import { addReason } from "./failure.ts";
import { forwardTo } from "./forward.ts";
import { createMethods, type Method, type Routes } from "./method.ts";
import type { TagPrefix } from "./rest/entity-tag.ts";
import type { BesideRule } from "./rest/rule.ts";
import { completeReading, type Reading, type ReadingOptions } from "./rest/tolerance.ts";
import type { MemberNames } from "./serialize.ts";
import { createSendStream, type SendStream, type StreamTimes } from "./stream.ts";

/** The rpcs of a gateway and their implementations. The members may be combined. */
export interface Served {
  /** Registers services with their implementation, as for `fastifyConnectPlugin`. */
  readonly routes?: Routes;
  /** Connect's interceptors around `routes` and `services`; the first is the outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Services that another server implements, which is reached by `target`. */
  readonly services?: readonly DescService[];
  /** A transport of Connect, such as `createGrpcTransport`, to the server of `services`. */
  readonly target?: Transport;
  /** Methods that are bound already: see createMethods. */
  readonly methods?: readonly Method[];
}

/**
 * All methods that are served.
 *
 * @throws Error for services without a target, and for a bidirectional stream of `routes`.
 *
 * @internal
 */
export function servedMethods(served: Served): readonly Method[] {
  const { routes, interceptors, services = [], target, methods = [] } = served;
  if (services.length > 0 && target === undefined)
    throw new Error("services without target: give the transport to their server");
  return [
    ...methods,
    ...(routes === undefined ? [] : createMethods(routes, interceptors)),
    ...(target === undefined ? [] : createMethods(forwardTo(target, services), interceptors)),
  ];
}

/** Options of a gateway. Everything but `methods` has a default. */
export interface GatewayOptions extends ReadingOptions {
  /** Methods with their implementation: see createMethods. */
  readonly methods: readonly Method[];
  /** REST rules in addition to the contract; a rule for an rpc replaces the options of the rpc. */
  readonly rules?: readonly BesideRule[];
  /** Names of JSON members in replies: JSON names (the default), or those of the proto files. */
  readonly memberNames?: MemberNames;
  /**
   * Format of errors of requests without a rule (405, and 404 below the path of a rule) and of rpcs
   * whose rules have no envelope: google.rpc.Status (default), or for the former the envelope, with
   * 404 left to the application.
   */
  readonly errors?: "status" | "envelope";
  /**
   * Called with a sentence about a rule that is omitted because another one shadows it. Default:
   * Fastify's log, or `console.warn`. An error that it throws fails the start.
   */
  readonly warn?: (message: string) => void;
  /**
   * Selects the request headers that rpcs receive, by lower-case name; `admit` receives all.
   * Default: all.
   */
  readonly requestHeader?: (name: string) => boolean;
  /** Selects the headers of rpcs that are sent, by lower-case name. Default: all. */
  readonly responseHeader?: (name: string) => boolean;
  /**
   * HTTP status of replies that carry the envelope: always 200 (`envelope`, the default), or the
   * envelope's code (`code`). Replies without an envelope have their real status in both cases.
   */
  readonly httpStatus?: "envelope" | "code";
  /** Also serve Connect and gRPC-Web, at `/package.Service/Method`. Default true. */
  readonly connect?: boolean;
  /**
   * Cache-Control of an rpc's successful reads, called once for each state of a reply. Default:
   * `private, no-store`. All other replies are `no-store`.
   */
  readonly cacheControl?: (method: DescMethod) => string;
  /**
   * Prefix of the state in entity tags and event ids, so that those of two databases differ.
   * Characters of an entity tag without quote and percent sign. A function if it is known only
   * after the start; an error that it throws is the reply. Default: empty.
   */
  readonly etagPrefix?: string | (() => string);
  /** Bounds of request bodies. Default: 1,048,576 bytes each, 64 MiB together, 30 s. */
  readonly bounds?: Partial<BodyBounds>;
  /** Longest body of one rpc's requests, in bytes. Default: that of the bounds. */
  readonly bodyLimit?: (method: DescMethod) => number;
  /**
   * Bounds of one rpc's request messages, checked before decoding. Default: 100,000 values, texts as
   * long as the body.
   */
  readonly messageLimits?: (method: DescMethod) => MessageLimits;
  /**
   * Admits a call by its headers or throws, before a byte of its body is read. Default: all calls are
   * admitted.
   */
  readonly admit?: (call: Call) => void | Promise<void>;
  /**
   * Called for requests that the gateway or `admit` refuses before they reach their rpc and its
   * interceptors.
   */
  readonly refused?: (error: ConnectError, call: Call) => void;
  /** Called for requests whose body was incomplete; they are not executed. */
  readonly dropped?: (error: ConnectError, call: Call) => void;
  /**
   * Reports whether a caller sees the whole state. Only then does the tag of a whole reply give
   * 304. Default: true.
   */
  readonly seesWhole?: (call: Call) => boolean;
  /** Finds a client's address. Default: that of the connection. */
  readonly peerOf?: PeerOf;
  /** Called for errors whose message is masked as "internal error". */
  readonly report?: (error: unknown, request: { readonly id: string }) => void;
  /** Domain of the `google.rpc.ErrorInfo` of the gateway's own errors. Default: none, no such detail. */
  readonly errorDomain?: string;
  /** Called for the gateway's own errors before they are sent: may add details. Default: none. */
  readonly explain?: (error: ConnectError, request: Pick<Call, "header">) => void;
  readonly streams?: StreamTimes;
  /** Types for google.protobuf.Any in JSON. Default: those of the files of the methods. */
  readonly registry?: Registry;
}

/** The options with their defaults, as the protocols share them. @internal */
export interface Gateway extends GatewayOptions {
  readonly reading: Reading;
  readonly registry: Registry;
  readonly memberNames: MemberNames;
  readonly bounds: BodyBounds;
  readonly bodyLimit: (method: DescMethod) => number;
  readonly messageLimits: (method: DescMethod) => MessageLimits;
  readonly prefix: TagPrefix;
  readonly peerOf: PeerOf;
  readonly seesWhole: (call: Call) => boolean;
  readonly sendStream: SendStream;
  /** Gives an error of the gateway's own its reason and the details of `explain`. */
  readonly explained: Explained;
  /** Reports a request that does not reach its rpc. */
  readonly turnedAway: (error: unknown, call: Call) => void;
}

/** @internal */
export type Explained = (error: unknown, request: Pick<Call, "header">) => void;

/** @internal */
export function createExplained({
  errorDomain,
  explain,
}: Pick<GatewayOptions, "errorDomain" | "explain">): Explained {
  return (error, request) => {
    if (!(error instanceof Fault) || error.reason === undefined) return;
    if (errorDomain !== undefined) addReason(error, errorDomain);
    explain?.(error, request);
  };
}

/** Fills in the defaults. @internal */
export function complete(options: GatewayOptions): Gateway {
  const { etagPrefix = "", refused, dropped } = options;
  const bounds = { ...defaultBounds(), ...options.bounds };
  const turnedAway = (error: unknown, call: Call): void => {
    if (error instanceof RequestAborted) dropped?.(error, call);
    else refused?.(error as ConnectError, call);
  };
  return {
    ...options,
    reading: completeReading(options),
    registry: options.registry ?? registryOf(options.methods),
    memberNames: options.memberNames ?? "json",
    bounds,
    bodyLimit: options.bodyLimit ?? (() => bounds.maxBytes),
    messageLimits: options.messageLimits ?? (() => MESSAGE_LIMITS),
    peerOf: options.peerOf ?? plainAddress,
    prefix: typeof etagPrefix === "string" ? () => etagPrefix : etagPrefix,
    seesWhole: options.seesWhole ?? (() => true),
    sendStream: createSendStream(options.streams),
    explained: createExplained(options),
    turnedAway,
  };
}

function registryOf(methods: readonly Method[]): Registry {
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (files.has(file)) return;
    files.add(file);
    file.dependencies.forEach(add);
  };
  for (const { desc } of methods) add(desc.parent.file);
  return createRegistry(...files);
}

function defaultBounds(): BodyBounds {
  return { buffered: new Buffered(64 * 2 ** 20), timeoutMs: 30_000, maxBytes: 2 ** 20 };
}
