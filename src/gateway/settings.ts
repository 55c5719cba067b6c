import type { DescMethod, Registry } from "@bufbuild/protobuf";
import type { ConnectRouterOptions, HandlerContext } from "@connectrpc/connect";
import { memoize } from "../memoize.ts";
import type { MessageLimits } from "../transport/body.ts";
import { createNegotiator, type Negotiator } from "./accept-encoding.ts";
import type { Coding } from "./coding.ts";
import type { ReplyForm } from "./encoded.ts";
import type { Reading } from "./rest/reading.ts";

/**
 * Options of Connect's routers, for the whole gateway, for one service (`router.service`) or for one
 * rpc (`router.rpc`). As in Connect, an option of a service replaces that of the gateway. `grpc` may
 * only be false: native gRPC is not served.
 */
export type RouterOptions = {
  readonly [Name in keyof ConnectRouterOptions]?: ConnectRouterOptions[Name] | undefined;
};

/** Largest size of a message in Connect and protobuf-es, in bytes. */
const MAX_BYTES = 0xffffffff;

const isFunction = (value: unknown): boolean => typeof value === "function";
const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;
const isBoolean = (value: unknown): boolean => typeof value === "boolean";
const isSize = (value: unknown): boolean =>
  typeof value === "number" && value >= 1 && value <= MAX_BYTES;

/**
 * A check of each option's value. An option that a later version of Connect adds does not compile
 * until it is here and in MethodSettings.
 */
const CHECKS: Readonly<Record<keyof ConnectRouterOptions, (value: unknown) => boolean>> = {
  interceptors: (value) => Array.isArray(value) && value.every(isFunction),
  requestGate: isFunction,
  readMaxBytes: isSize,
  writeMaxBytes: isSize,
  compressMinBytes: (value) => typeof value === "number" && value >= 0,
  acceptCompression: (value) => Array.isArray(value) && value.every(isObject),
  jsonOptions: isObject,
  binaryOptions: isObject,
  maxTimeoutMs: (value) => typeof value === "number" && value > 0,
  shutdownSignal: (value) => value instanceof AbortSignal,
  requireConnectProtocolHeader: isBoolean,
  connect: isBoolean,
  grpcWeb: isBoolean,
  grpc: (value) => value === false,
};

/** The names of the options. @internal */
export const ROUTER_OPTION_NAMES = Object.keys(CHECKS) as readonly (keyof ConnectRouterOptions)[];

/** Names within jsonOptions and binaryOptions that have an effect. */
const NESTED = {
  jsonOptions: [
    "ignoreUnknownFields",
    "registry",
    "recursionLimit",
    "alwaysEmitImplicit",
    "enumAsInteger",
    "useProtoFieldName",
  ],
  binaryOptions: ["readUnknownFields", "recursionLimit", "writeUnknownFields"],
} as const satisfies {
  readonly jsonOptions: readonly (keyof NonNullable<ConnectRouterOptions["jsonOptions"]>)[];
  readonly binaryOptions: readonly (keyof NonNullable<ConnectRouterOptions["binaryOptions"]>)[];
};

/**
 * Checks options of Connect.
 *
 * @param where the options are given, for the error.
 * @throws Error that names an option that is unknown or has an unsuitable value.
 *
 * @internal
 */
export function checkRouterOptions(options: object, where: string): void {
  checkNames(options, ROUTER_OPTION_NAMES, where);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (name === "grpc" && value === true)
      throw new Error(
        `${where}: grpc: native gRPC is not served; use Connect's own adapter for it`,
      );
    if (!CHECKS[name as keyof ConnectRouterOptions](value))
      throw new Error(`${where}: the value of the option ${name} is not suitable`);
    if (name === "jsonOptions" || name === "binaryOptions")
      checkNames(value, NESTED[name], `${where}: ${name}`);
  }
}

/**
 * Refuses names that are not options: one that is misspelt, or of another plugin, would be ignored.
 *
 * @throws Error that names it.
 *
 * @internal
 */
export function checkNames(options: object, known: readonly string[], where: string): void {
  for (const [name, value] of Object.entries(options))
    if (value !== undefined && !known.includes(name))
      throw new Error(`${where}: there is no option ${name}`);
}

/** The options of `outer` that `inner` does not replace, and those of `inner`. @internal */
export function mergeRouterOptions(outer: RouterOptions, inner: RouterOptions): RouterOptions {
  const set = Object.entries(inner).filter(([, value]) => value !== undefined);
  return { ...outer, ...Object.fromEntries(set) };
}

/** Rules of reading request messages. @internal */
export interface RequestForm {
  readonly reading: Reading;
  /** Types of google.protobuf.Any, and extensions, in JSON. */
  readonly registry: Registry;
  readonly limits: MessageLimits;
  /** Maximum nesting of messages in JSON; undefined: MAX_DEPTH levels of JSON. */
  readonly jsonDepth: number | undefined;
  /** Maximum nesting of messages in protobuf; undefined: MAX_DEPTH. */
  readonly binaryDepth: number | undefined;
  /** Unknown fields of a protobuf message are kept: extensions are among them. */
  readonly readUnknownFields: boolean;
}

/** All options that hold for the calls of one method. @internal */
export interface MethodSettings {
  readonly request: RequestForm;
  /** Longest request message, in bytes. */
  readonly readMaxBytes: number;
  readonly reply: ReplyForm;
  /** Longest response message, in bytes. */
  readonly writeMaxBytes: number;
  /** Returned messages are not changed afterwards, and their encoding is cached. */
  readonly isImmutable: boolean;
  readonly codings: readonly Coding[];
  /** Finds the names of the codings that a header accepts. */
  readonly accepted: Negotiator;
  /** Shortest reply that is compressed, in bytes. */
  readonly compressMinBytes: number;
  /** Longest deadline that a client may request, in milliseconds. */
  readonly maxTimeoutMs: number;
  readonly requestGate: ((context: HandlerContext) => void | Promise<void>) | undefined;
  readonly requireConnectProtocolHeader: boolean;
  /** Aborts the calls of the method. */
  readonly shutdownSignal: AbortSignal | undefined;
  readonly servesConnect: boolean;
  readonly servesGrpcWeb: boolean;
  readonly servesGrpc: boolean;
}

/** Parts of the settings that depend on options of the gateway alone. @internal */
export interface SettingsDefaults {
  readonly reading: Reading;
  readonly registry: Registry;
  readonly reply: ReplyForm;
  readonly bodyLimit: ((desc: DescMethod) => number) | undefined;
  /** Longest request message of a method without a limit of its own, in bytes. */
  readonly maxBytes: number;
  readonly messageLimits: (desc: DescMethod) => MessageLimits;
  readonly isImmutable: (desc: DescMethod) => boolean;
  readonly codings: readonly Coding[];
  /** Longest deadline that a client may request, in milliseconds. */
  readonly maxTimeoutMs: number;
}

/** Shortest reply that is compressed, in bytes: below it the headers outweigh the gain. */
const COMPRESSIBLE_SIZE = 1_024;

const negotiatorOf = memoize((codings: readonly Coding[]) =>
  createNegotiator(codings.map(({ name }) => name)),
);

/** The settings of a method with these options. @internal */
export function resolveSettings(
  desc: DescMethod,
  options: RouterOptions,
  defaults: SettingsDefaults,
): MethodSettings {
  const { jsonOptions, binaryOptions } = options;
  const codings = options.acceptCompression ?? defaults.codings;
  const registry = jsonOptions?.registry ?? defaults.registry;
  return {
    request: {
      reading: readingOf(jsonOptions?.ignoreUnknownFields, defaults.reading),
      registry,
      limits: defaults.messageLimits(desc),
      jsonDepth: jsonOptions?.recursionLimit,
      binaryDepth: binaryOptions?.recursionLimit,
      readUnknownFields: binaryOptions?.readUnknownFields ?? true,
    },
    readMaxBytes: readLimit(options.readMaxBytes, defaults.bodyLimit?.(desc)) ?? defaults.maxBytes,
    reply: replyOf(options, defaults),
    writeMaxBytes: options.writeMaxBytes ?? MAX_BYTES,
    isImmutable: defaults.isImmutable(desc),
    codings,
    accepted: negotiatorOf(codings),
    compressMinBytes: options.compressMinBytes ?? COMPRESSIBLE_SIZE,
    maxTimeoutMs: options.maxTimeoutMs ?? defaults.maxTimeoutMs,
    requestGate: options.requestGate,
    requireConnectProtocolHeader: options.requireConnectProtocolHeader ?? false,
    shutdownSignal: options.shutdownSignal,
    servesConnect: options.connect ?? true,
    servesGrpcWeb: options.grpcWeb ?? true,
    servesGrpc: options.grpc ?? true,
  };
}

/** The smaller one, if both are given. */
function readLimit(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** `ignoreUnknownFields` of protobuf-es is about members and about names of enum values. */
function readingOf(ignoresUnknown: boolean | undefined, reading: Reading): Reading {
  if (ignoresUnknown === undefined) return reading;
  const unknown = ignoresUnknown ? "ignore" : "refuse";
  return { ...reading, unknownMembers: unknown, unknownEnums: unknown, hasStrictMasks: false };
}

/** The shared form, unless an option changes it: encoded replies are cached by their form. */
function replyOf({ jsonOptions, binaryOptions }: RouterOptions, defaults: SettingsDefaults) {
  const { reply } = defaults;
  if (jsonOptions === undefined && binaryOptions === undefined) return reply;
  const { json } = reply;
  return {
    json: {
      useProtoFieldName: jsonOptions?.useProtoFieldName ?? json.useProtoFieldName,
      alwaysEmitImplicit: jsonOptions?.alwaysEmitImplicit ?? json.alwaysEmitImplicit,
      enumAsInteger: jsonOptions?.enumAsInteger ?? json.enumAsInteger,
      registry: jsonOptions?.registry ?? json.registry,
    },
    writeUnknownFields: binaryOptions?.writeUnknownFields ?? reply.writeUnknownFields,
  };
}
