import {
  createRegistry,
  type DescEnum,
  type DescFile,
  type DescMethod,
  type DescService,
  type Registry,
} from "@bufbuild/protobuf";
import { NullValueSchema } from "@bufbuild/protobuf/wkt";
import type { ConnectError, Interceptor, Transport } from "@connectrpc/connect";
import { memoize } from "../memoize.ts";
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
import { BROTLI, GZIP } from "./coding.ts";
import type { ReplyForm } from "./encoded.ts";
import { addReason } from "./failure.ts";
import { forwardTo } from "./forward.ts";
import { createMethods, type Method, type Routes } from "./method.ts";
import type { PathTolerance } from "./mount-path.ts";
import type { TagPrefix } from "./rest/entity-tag.ts";
import { completeReading, type Reading, type ReadingOptions } from "./rest/reading.ts";
import { type BesideRule, RuleError, rpcName } from "./rest/rule.ts";
import type { MemberNames } from "./serialize.ts";
import {
  checkNames,
  checkRouterOptions,
  type MethodSettings,
  mergeRouterOptions,
  ROUTER_OPTION_NAMES,
  type RouterOptions,
  resolveSettings,
} from "./settings.ts";
import { Shutdown, shutdownOf } from "./shutdown.ts";
import { createSendStream, type SendStream, type StreamTimes } from "./stream.ts";

/** The rpcs of a gateway and their implementations. The members may be combined. */
export interface Served {
  /** Registers services with their implementation, as for `fastifyConnectPlugin`. */
  readonly routes?: Routes | undefined;
  /** Connect's interceptors around `routes` and `services`; the first is the outermost. */
  readonly interceptors?: readonly Interceptor[] | undefined;
  /** Services that another server implements, which is reached by `target`. */
  readonly services?: readonly DescService[] | undefined;
  /** A transport of Connect, such as `createGrpcTransport`, to the server of `services`. */
  readonly target?: Transport | undefined;
  /** Methods that are bound already: see createMethods. */
  readonly methods?: readonly Method[] | undefined;
}

/**
 * All methods that are served.
 *
 * @throws Error for no services at all, services without a target, and interceptors that would
 *   not be called.
 *
 * @internal
 */
export function servedMethods(served: Served): readonly Method[] {
  const { routes, interceptors = [], services = [], target, methods } = served;
  if (
    routes === undefined &&
    target === undefined &&
    services.length === 0 &&
    methods === undefined
  )
    throw new Error("nothing to serve: give routes, or services and their target");
  if (services.length > 0 && target === undefined)
    throw new Error("services without target: give the transport to their server");
  if (methods !== undefined && interceptors.length > 0)
    throw new Error("interceptors: methods have theirs already; give them to createMethods");
  return [
    ...(methods ?? []),
    ...(routes === undefined ? [] : createMethods(routes, interceptors)),
    ...(target === undefined ? [] : createMethods(forwardTo(target, services), interceptors)),
  ];
}

/** Options of a gateway. Everything but `methods` has a default. */
export interface GatewayOptions extends ReadingOptions, Omit<RouterOptions, "interceptors"> {
  /** Methods with their implementation: see createMethods. */
  readonly methods: readonly Method[];
  /** REST rules in addition to the contract; a rule for an rpc replaces the options of the rpc. */
  readonly rules?: readonly BesideRule[] | undefined;
  /** Names of JSON members in replies: JSON names (the default), or those of the proto files. */
  readonly memberNames?: MemberNames | undefined;
  /**
   * Format of errors of requests without a rule (405, and 404 below the path of a rule) and of rpcs
   * whose rules have no envelope: google.rpc.Status (default), or for the former the envelope, with
   * 404 left to the application.
   */
  readonly errors?: "status" | "envelope" | undefined;
  /**
   * Called with a sentence about a rule that is omitted because another one shadows it. Default:
   * Fastify's log, or `console.warn`. An error that it throws fails the start.
   */
  readonly warn?: ((message: string) => void) | undefined;
  /**
   * Selects the request headers that rpcs receive, by lower-case name; `admit` receives all.
   * Default: all.
   */
  readonly requestHeader?: ((name: string) => boolean) | undefined;
  /** Selects the headers of rpcs that are sent, by lower-case name. Default: all. */
  readonly responseHeader?: ((name: string) => boolean) | undefined;
  /**
   * HTTP status of replies that carry the envelope: always 200 (`envelope`, the default), or the
   * envelope's code (`code`). Replies without an envelope have their real status in both cases.
   */
  readonly httpStatus?: "envelope" | "code" | undefined;
  /**
   * The messages that handlers return are not changed afterwards: then the encoded and compressed
   * replies of reads (`NO_SIDE_EFFECTS`) and the messages of streams are cached as long as their
   * message. Default: false, each reply is encoded.
   */
  readonly immutableReplies?: boolean | ((method: DescMethod) => boolean) | undefined;
  /**
   * Cache-Control of an rpc's successful reads, called once for each state of a reply. Default:
   * `private, no-store`. All other replies are `no-store`.
   */
  readonly cacheControl?: ((method: DescMethod) => string) | undefined;
  /**
   * Prefix of the state in entity tags and event ids, so that those of two databases differ.
   * Characters of an entity tag without quote and percent sign. A function if it is known only
   * after the start; an error that it throws is the reply. Default: empty.
   */
  readonly etagPrefix?: string | (() => string) | undefined;
  /** Bounds of request bodies. Default: 1,048,576 bytes each, 64 MiB together, 30 s. */
  readonly bounds?:
    | { readonly [Name in keyof BodyBounds]?: BodyBounds[Name] | undefined }
    | undefined;
  /**
   * Bytes of all request bodies that are in memory; one client may hold half of them. Default: 64 MiB.
   */
  readonly bodyBudget?: number | undefined;
  /** Longest body of one rpc's requests, in bytes. Default: `readMaxBytes`, or that of the bounds. */
  readonly bodyLimit?: ((method: DescMethod) => number) | undefined;
  /**
   * Bounds of one rpc's request messages, checked before decoding. Default: 100,000 values, texts as
   * long as the body.
   */
  readonly messageLimits?: ((method: DescMethod) => MessageLimits) | undefined;
  /**
   * Admits a call by its headers or throws, before a byte of its body is read. Default: all calls are
   * admitted.
   */
  readonly admit?: ((call: Call) => void | Promise<void>) | undefined;
  /**
   * Called for requests that the gateway or `admit` refuses before they reach their rpc and its
   * interceptors.
   */
  readonly refused?: ((error: ConnectError, call: Call) => void) | undefined;
  /** Called for requests whose body was incomplete; they are not executed. */
  readonly dropped?: ((error: ConnectError, call: Call) => void) | undefined;
  /**
   * Reports whether a caller sees the whole state. Only then does the tag of a whole reply give
   * 304. Default: true.
   */
  readonly seesWhole?: ((call: Call) => boolean) | undefined;
  /** Finds a client's address. Default: that of the connection. */
  readonly peerOf?: PeerOf | undefined;
  /**
   * Called for errors whose message is masked as "internal error". Default: Fastify's log, or
   * `console.error`.
   */
  readonly report?: ((error: unknown, request: { readonly id: string }) => void) | undefined;
  /** Domain of the `google.rpc.ErrorInfo` of the gateway's own errors. Default: none, no such detail. */
  readonly errorDomain?: string | undefined;
  /** Called for the gateway's own errors before they are sent: may add details. Default: none. */
  readonly explain?: ((error: ConnectError, request: Pick<Call, "header">) => void) | undefined;
  /** Times of streams. Default: 15 s between heartbeats, 1 s for the first message. */
  readonly streams?: StreamTimes | undefined;
  /** Types for google.protobuf.Any in JSON. Default: those of the files of the methods. */
  readonly registry?: Registry | undefined;
}

/** A request whose errors can be logged. @internal */
export interface LoggedRequest {
  readonly id: string;
  logError(error: unknown): void;
}

/** The options with their defaults, as the protocols share them. @internal */
export interface Gateway extends GatewayOptions {
  readonly reading: Reading;
  readonly registry: Registry;
  readonly memberNames: MemberNames;
  readonly bounds: BodyBounds;
  /** Differences of paths that the router of the mount ignores. */
  readonly paths: PathTolerance;
  /** All options that hold for the calls of a method. */
  readonly settingsOf: (method: Method) => MethodSettings;
  /** Shutdown of the calls with this signal. */
  readonly shutdownOf: (signal: AbortSignal) => Shutdown;
  /** Shutdown of all calls. */
  readonly shutdown: Shutdown | undefined;
  /** Shutdown of streams of server-sent events. */
  readonly eventStreams: Shutdown;
  readonly prefix: TagPrefix;
  readonly peerOf: PeerOf;
  readonly seesWhole: (call: Call) => boolean;
  readonly sendStream: SendStream;
  /** Gives an error of the gateway's own its reason and the details of `explain`. */
  readonly explained: Explained;
  /** Reports an error whose message is masked, or logs it. */
  readonly reportMasked: (error: unknown, request: LoggedRequest) => void;
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

/** The names of all options of a gateway. An option that is not here does not compile. */
const OPTION_NAMES = Object.keys({
  routes: true,
  services: true,
  target: true,
  methods: true,
  rules: true,
  memberNames: true,
  errors: true,
  warn: true,
  requestHeader: true,
  responseHeader: true,
  httpStatus: true,
  immutableReplies: true,
  cacheControl: true,
  etagPrefix: true,
  bounds: true,
  bodyBudget: true,
  bodyLimit: true,
  messageLimits: true,
  admit: true,
  refused: true,
  dropped: true,
  seesWhole: true,
  peerOf: true,
  report: true,
  errorDomain: true,
  explain: true,
  streams: true,
  registry: true,
  tolerance: true,
  unknownParameters: true,
  unknownMembers: true,
  unknownEnums: true,
  largeIntegers: true,
  mapParameters: true,
  fillUpdateMask: true,
} satisfies Record<Exclude<keyof GatewayOptions | keyof Served, keyof RouterOptions>, true>);

/** The names of all options that both mounts have. @internal */
export const ALL_OPTIONS: readonly string[] = [...OPTION_NAMES, ...ROUTER_OPTION_NAMES];

/**
 * Checks the options of a gateway.
 *
 * @param own names of the mount's own options.
 * @param where for the error.
 * @throws Error that names an option that is unknown or has an unsuitable value.
 *
 * @internal
 */
export function checkOptions(options: object, own: readonly string[], where: string): void {
  checkNames(options, [...ALL_OPTIONS, ...own], where);
  checkRouterOptions(routerOptionsOf(options), where);
}

/** The options of Connect among the options of a gateway. */
function routerOptionsOf(options: object): RouterOptions {
  const entries = Object.entries(options) as [keyof RouterOptions, never][];
  return Object.fromEntries(entries.filter(([name]) => ROUTER_OPTION_NAMES.includes(name)));
}

/** Properties of the mount of a gateway. @internal */
export interface Mount {
  readonly paths?: PathTolerance | undefined;
  /** Shutdown of all calls. */
  readonly shutdown?: Shutdown | undefined;
}

/** Longest deadline that a client may request, in milliseconds. */
const MAX_TIME = 24 * 60 * 60 * 1_000;

/**
 * Fills in the defaults.
 *
 * @throws Error for a rule of no method, and for a body limit that the budget does not permit.
 *
 * @internal
 */
export function complete(options: GatewayOptions, mount: Mount = {}): Gateway {
  const { etagPrefix = "", refused, dropped, immutableReplies = false } = options;
  const defaultBounds = createBounds(options.bodyBudget);
  const bounds: BodyBounds = {
    buffered: options.bounds?.buffered ?? defaultBounds.buffered,
    timeoutMs: options.bounds?.timeoutMs ?? defaultBounds.timeoutMs,
    maxBytes: options.bounds?.maxBytes ?? defaultBounds.maxBytes,
  };
  const turnedAway = (error: unknown, call: Call): void => {
    if (error instanceof RequestAborted) dropped?.(error, call);
    else refused?.(error as ConnectError, call);
  };
  const registry = options.registry ?? registryOf(options.methods);
  const names = options.memberNames ?? "json";
  const reply: ReplyForm = {
    json: {
      useProtoFieldName: names === "proto",
      alwaysEmitImplicit: true,
      enumAsInteger: false,
      registry,
    },
    writeUnknownFields: true,
  };
  const defaults = {
    reading: completeReading(options),
    registry,
    reply,
    bodyLimit: options.bodyLimit,
    maxBytes: bounds.maxBytes,
    messageLimits: options.messageLimits ?? (() => MESSAGE_LIMITS),
    isImmutable: typeof immutableReplies === "function" ? immutableReplies : () => immutableReplies,
    codings: [BROTLI, GZIP],
    maxTimeoutMs: MAX_TIME,
  };
  const common = routerOptionsOf(options);
  const settingsOf = memoize((method: Method) =>
    resolveSettings(method.desc, mergeRouterOptions(common, method.options ?? {}), defaults),
  );
  if (options.bounds?.buffered === undefined)
    for (const method of options.methods) checkLimit(method, settingsOf(method), bounds);
  checkSelectors(options);
  for (const file of filesOf(options.methods)) checkVersion(file);
  return {
    ...options,
    reading: defaults.reading,
    registry,
    memberNames: names,
    bounds,
    settingsOf,
    shutdownOf: memoize(shutdownOf),
    paths: mount.paths ?? {},
    shutdown: mount.shutdown,
    eventStreams: new Shutdown(),
    peerOf: options.peerOf ?? plainAddress,
    prefix: typeof etagPrefix === "string" ? () => etagPrefix : etagPrefix,
    seesWhole: options.seesWhole ?? (() => true),
    sendStream: createSendStream(options.streams),
    explained: createExplained(options),
    reportMasked: (error, http) => {
      if (options.report === undefined) http.logError(error);
      else options.report(error, http);
    },
    turnedAway,
  };
}

/** A body over the share of one client would be refused again and again. */
function checkLimit(
  { desc }: Method,
  { readMaxBytes }: MethodSettings,
  { buffered }: BodyBounds,
): void {
  if (readMaxBytes <= buffered.share) return;
  throw new Error(
    `${rpcName(desc)}: requests may have ${readMaxBytes} bytes, but one client may hold ` +
      `${buffered.share}, half of the byte budget: set bodyBudget to at least ${2 * readMaxBytes}, ` +
      "or stream large bodies as google.api.HttpBody",
  );
}

/** A misspelt selector would leave its rpc without the rule. */
function checkSelectors({ rules = [], methods }: GatewayOptions): void {
  const names = new Set(methods.map(({ desc }) => rpcName(desc)));
  for (const { selector } of rules)
    if (!names.has(selector))
      throw new RuleError(`${selector}: a rule for an rpc that is not served`);
}

/**
 * A descriptor of an older protobuf-es, which another copy of the library has made, lacks names that
 * this one writes: values of enums would become numbers.
 */
function checkVersion(file: DescFile): void {
  if (!namesEnumValues(NullValueSchema)) return;
  const enums = [...file.enums, ...file.messages.flatMap(({ nestedEnums }) => nestedEnums)];
  if (!enums.every(namesEnumValues))
    throw new Error(
      `${file.name}.proto: its descriptors are of another version of @bufbuild/protobuf: install one version, 2.12 or later`,
    );
}

/** Whether values have their names in JSON: this copy of the library may be too old for them. */
function namesEnumValues({ values: [first] }: DescEnum): boolean {
  return first === undefined || first.jsonName !== undefined;
}

function registryOf(methods: readonly Method[]): Registry {
  return createRegistry(...filesOf(methods));
}

/** The files of the methods, and those that they import. */
function filesOf(methods: readonly Method[]): ReadonlySet<DescFile> {
  const files = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (files.has(file)) return;
    files.add(file);
    file.dependencies.forEach(add);
  };
  for (const { desc } of methods) add(desc.parent.file);
  return files;
}

function createBounds(budget = 64 * 2 ** 20): BodyBounds {
  return { buffered: new Buffered(budget), timeoutMs: 30_000, maxBytes: 2 ** 20 };
}
