import type { Message } from "@bufbuild/protobuf";
import type { HttpCall } from "../exchange.ts";
import {
  describeFailure,
  failureBody,
  failureEnvelope,
  failureStatus,
  tooLargeReply,
} from "../failure.ts";
import type { Gateway } from "../options.ts";
import { jsonText } from "../serialize.ts";
import type { MethodSettings } from "../settings.ts";
import type { StreamReply } from "../stream.ts";
import { readState, type TagPrefix } from "./entity-tag.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import type { ReplyRule } from "./reply-rule.ts";
import { replyText } from "./reply-text.ts";

/** Format of a server stream: each message is a line or an array element of JSON, or an event. */
export type StreamFormat = "lines" | "array" | "events";

/** The first supported format in an Accept header; lines if it has none. */
export function streamFormat(accept: string | undefined): StreamFormat {
  for (const range of (accept ?? "").toLowerCase().split(",")) {
    const format = FORMATS.get((range.split(";", 1)[0] ?? "").trim());
    if (format !== undefined) return format;
  }
  return "lines";
}

const FORMATS: ReadonlyMap<string, StreamFormat> = new Map([
  ["application/x-ndjson", "lines"],
  ["application/jsonl", "lines"],
  ["application/json", "array"],
  ["text/event-stream", "events"],
]);

/** Content-Type of each format. */
export const STREAM_TYPES: Readonly<Record<StreamFormat, string>> = {
  lines: "application/x-ndjson",
  array: "application/json; charset=utf-8",
  events: "text/event-stream",
};

/** Stream that is sent, and how. */
interface Target {
  readonly call: HttpCall;
  readonly rule: ReplyRule;
  readonly gateway: Gateway;
  readonly settings: MethodSettings;
}

/** Parts of a stream's reply that all formats share. */
function commonParts(
  { call }: Target,
  type: string,
): Pick<StreamReply, "sink" | "isOpen" | "open"> {
  const { http } = call;
  return {
    sink: http.sink,
    isOpen: () => http.isBegun || http.isGone,
    open: () => http.begin(headersOf(call, type)),
  };
}

/**
 * A server stream as JSON: a message per line, or an array. An error after the first message is
 * `{"error": google.rpc.Status}` in place of the next one.
 */
export function jsonStream(format: "lines" | "array", target: Target): StreamReply {
  const { call, rule, settings } = target;
  const isArray = format === "array";
  let count = 0;
  const piece = (text: string): string => {
    count += 1;
    if (!isArray) return `${text}\n`;
    return count === 1 ? `[${text}` : `,\n${text}`;
  };
  return {
    ...commonParts(target, STREAM_TYPES[format]),
    encode: (message) =>
      Buffer.from(piece(withinLimit(replyText(rule, message, settings), settings))),
    end: (error) => {
      const last = error === undefined ? "" : piece(errorText(error, target));
      const close = count === 0 ? "[]" : "]";
      call.http.end(isArray ? `${last}${close}` : last);
    },
  };
}

/** A stream of google.api.HttpBody: the bytes of all messages, with the type of the first. */
export function rawStream({ call, rule, gateway, settings }: Target): StreamReply {
  const { http } = call;
  const body = (message: Message) => httpBodyOf(message, rule.field);
  let isBegun = false;
  const begin = (first?: Message): void => {
    isBegun = true;
    http.begin(headersOf(call, typeOf(first && body(first))));
  };
  return {
    sink: http.sink,
    isOpen: () => isBegun || http.isGone,
    // Its type is unknown before the first message.
    open: (first) => {
      if (first !== undefined) begin(first);
    },
    encode: (message) => withinLimit(Buffer.from(body(message)?.data ?? []), settings),
    end: (error) => {
      if (!isBegun) begin();
      if (error === undefined) return http.end();
      if (describeFailure(error).unexpected) gateway.reportMasked(error, http);
      // The body has no form for an error: the reply is aborted.
      http.destroy();
    },
  };
}

/** Heartbeat: a comment, which clients ignore. */
const BEAT = Buffer.from(":\n\n");

/** Writes a message as an event (HTML Living Standard, section 9.2); its state is the event's id. */
export function encodeEvent(
  rule: ReplyRule,
  message: Message,
  prefix: TagPrefix,
  settings: MethodSettings,
): Buffer {
  const state = readState(rule, message, prefix);
  const id = state === undefined ? "" : `id: ${state}\n`;
  const data = withinLimit(replyText(rule, message, settings), settings);
  return Buffer.from(`${id}data: ${data}\n\n`);
}

/** @throws RESOURCE_EXHAUSTED for a message of a stream that is longer than writeMaxBytes. */
function withinLimit<T extends Buffer | string>(message: T, { writeMaxBytes }: MethodSettings): T {
  const size = Buffer.byteLength(message);
  if (size > writeMaxBytes) throw tooLargeReply(size, writeMaxBytes);
  return message;
}

/** A server stream as events. An event `error` with the error is the last one of a stream that fails. */
export function eventStream(encode: (message: Message) => Buffer, target: Target): StreamReply {
  const { call, gateway } = target;
  return {
    ...commonParts(target, STREAM_TYPES.events),
    encode,
    beat: BEAT,
    end: (error) => {
      if (error === undefined) return call.http.end();
      const failure = describeFailure(error);
      if (failure.unexpected) gateway.reportMasked(error, call.http);
      const text =
        gateway.errors === "envelope"
          ? failureEnvelope(failure)
          : failureBody(failure, gateway.registry);
      call.http.end(`event: error\ndata: ${text}\n\n`);
    },
  };
}

/** `x-accel-buffering`: nginx would buffer the reply. */
function headersOf(call: HttpCall, type: string): Record<string, string | string[]> {
  return {
    ...call.replyHeaders(),
    "content-type": type,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  };
}

function errorText(error: unknown, { gateway, call }: Target): string {
  const failure = describeFailure(error);
  if (failure.unexpected) gateway.reportMasked(error, call.http);
  return jsonText({ error: failureStatus(failure.error, gateway.registry) });
}
