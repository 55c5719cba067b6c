import type { ServerResponse } from "node:http";
import { createRegistry, type DescFile, type DescMethod, type Registry } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import type { FastifyRequest } from "fastify";
import { type BodyBounds, Buffered, RequestAborted } from "../transport/body.ts";
import { connectedPeer, type PeerOf } from "../transport/peer.ts";
import { SlowReaders } from "../transport/slow-reader.ts";
import type { Call } from "./call.ts";
import { type HttpCall, sinkOf } from "./http-call.ts";
import type { MemberNames } from "./json-text.ts";
import type { Method } from "./method.ts";
import type { TagPrefix } from "./rest/entity-tag.ts";
import type { BesideRule } from "./rest/rule.ts";
import { completeReading, type Reading, type ReadingOptions } from "./rest/tolerance.ts";
import { createSendStream, type SendStream, type StreamTimes } from "./stream.ts";

/** What a gateway serves, and how. Everything but `methods` has a default. */
export interface GatewayOptions extends ReadingOptions {
  /** Methods with their implementation: see createMethods. */
  readonly methods: readonly Method[];
  /** REST rules beside the contract; one for an rpc goes before the options that the rpc has. */
  readonly rules?: readonly BesideRule[];
  /** Names of JSON members in replies: JSON names (the default), or those of the proto files. */
  readonly memberNames?: MemberNames;
  /**
   * Errors of requests that no rule is found for (405, 404 below the path of a rule) and of rpcs whose
   * rules say nothing of an envelope: google.rpc.Status (the default), or for the former the envelope,
   * and 404 is left to the application.
   */
  readonly errors?: "status" | "envelope";
  /** Takes a sentence about a rule that another shadows. Default: such a rule ends the start. */
  readonly warn?: (message: string) => void;
  /** Which request headers rpcs see, by lower-case name; `admit` sees all. Default: all. */
  readonly requestHeader?: (name: string) => boolean;
  /** Which headers that rpcs set go out, by lower-case name. Default: all. */
  readonly responseHeader?: (name: string) => boolean;
  /**
   * HTTP status of replies that carry the envelope: always 200 (`envelope`, the default), or the
   * envelope's code (`code`). Replies without an envelope have their real status in both cases.
   */
  readonly httpStatus?: "envelope" | "code";
  /** Also serve Connect and gRPC-Web, at `/package.Service/Method`. Default true. */
  readonly connect?: boolean;
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
  /** Bounds of request bodies. Default: 1,048,576 bytes each, 64 MiB together, 30 s. */
  readonly bounds?: BodyBounds;
  /** Longest body of one rpc's requests, in bytes. Default: that of the bounds. */
  readonly bodyLimit?: (method: DescMethod) => number;
  /** Watches over clients that read slowly. Default: 64 MiB together, 30 s. */
  readonly slowReaders?: SlowReaders;
  /**
   * Lets a call in by its headers or throws, before a byte of its body is read. Default: everybody.
   */
  readonly admit?: (call: Call) => void | Promise<void>;
  /**
   * Told of requests for an rpc that never reach it, because the gateway or `admit` refuses them:
   * the rpc's own interceptors hear nothing of them.
   */
  readonly refused?: (error: ConnectError, call: Call) => void;
  /** Told of requests that never ended, and so were not carried out. */
  readonly dropped?: (error: ConnectError, call: Call) => void;
  /**
   * Whether a caller is shown all of a state: only such a caller is answered 304 by the tag of a whole
   * reply. Default: every caller is.
   */
  readonly seesWhole?: (call: Call) => boolean;
  /** Finds a client's address. Default: it is whoever has connected. */
  readonly peerOf?: PeerOf;
  /** Told of errors whose words are masked because no client may read them. */
  readonly report?: (error: unknown, request: FastifyRequest) => void;
  readonly streams?: StreamTimes;
  /** Types for google.protobuf.Any in JSON. Default: those of the files of the methods. */
  readonly registry?: Registry;
}

/** The options with their defaults: what the dialects share. @internal */
export interface Gateway extends GatewayOptions {
  readonly reading: Reading;
  readonly registry: Registry;
  readonly memberNames: MemberNames;
  readonly bounds: BodyBounds;
  readonly bodyLimit: (method: DescMethod) => number;
  readonly prefix: TagPrefix;
  readonly peerOf: PeerOf;
  readonly seesWhole: (call: Call) => boolean;
  readonly sendStream: SendStream;
  /** Counts a whole reply that is about to be sent until it has left. */
  readonly hold: (response: ServerResponse, body: Buffer) => void;
  /** Reports a request that does not reach its rpc. */
  readonly turnedAway: (error: unknown, call: HttpCall) => void;
}

/** Fills in the defaults. @internal */
export function complete(options: GatewayOptions): Gateway {
  const { etagPrefix = "", bounds = defaultBounds(), refused, dropped } = options;
  const slow =
    options.slowReaders ?? new SlowReaders({ together: 64 * 2 ** 20, patienceMs: 30_000 });
  const turnedAway = (error: unknown, call: HttpCall): void => {
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
    peerOf: options.peerOf ?? connectedPeer,
    prefix: typeof etagPrefix === "string" ? () => etagPrefix : etagPrefix,
    seesWhole: options.seesWhole ?? (() => true),
    sendStream: createSendStream(slow, options.streams),
    hold: (response, body) => slow.hold(sinkOf(response), body),
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
