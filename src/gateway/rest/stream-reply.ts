import type { Message } from "@bufbuild/protobuf";
import { memoize } from "../../memoize.ts";
import { jsonText } from "../envelope.ts";
import type { HttpCall } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope, failureStatus } from "../failure.ts";
import type { Gateway } from "../options.ts";
import type { StreamReply } from "../stream.ts";
import { readState, type TagPrefix } from "./entity-tag.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import { replyText } from "./reply.ts";
import type { ReplyRule } from "./reply-rule.ts";

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

interface Target {
  readonly call: HttpCall;
  readonly rule: ReplyRule;
  readonly gateway: Gateway;
}

/** Parts of a stream's reply that all formats share. */
function opened({ call }: Target, type: string): Pick<StreamReply, "sink" | "isOpen" | "open"> {
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
  const { call, rule, gateway } = target;
  const isArray = format === "array";
  let count = 0;
  const piece = (text: string): string => {
    count += 1;
    if (!isArray) return `${text}\n`;
    return count === 1 ? `[${text}` : `,\n${text}`;
  };
  return {
    ...opened(target, STREAM_TYPES[format]),
    encode: (message) => Buffer.from(piece(replyText(rule, message, gateway))),
    end: (error) => {
      const last = error === undefined ? "" : piece(errorText(error, target));
      const close = count === 0 ? "[]" : "]";
      call.http.end(isArray ? `${last}${close}` : last);
    },
  };
}

/** A stream of google.api.HttpBody: the bytes of all messages, with the type of the first. */
export function rawStream({ call, rule, gateway }: Target): StreamReply {
  const { http } = call;
  const body = (message: Message) => httpBodyOf(message, rule.field);
  const open = (first?: Message): void => http.begin(headersOf(call, typeOf(first && body(first))));
  let begun = false;
  return {
    sink: http.sink,
    isOpen: () => begun || http.isGone,
    // Its type is unknown before the first message.
    open: (first) => {
      if (first === undefined) return;
      begun = true;
      open(first);
    },
    encode: (message) => Buffer.from(body(message)?.data ?? []),
    end: (error) => {
      if (!begun) open();
      if (error === undefined) return http.end();
      if (describeFailure(error).unexpected) gateway.report?.(error, http);
      // The body has no form for an error: the reply is aborted.
      http.destroy();
    },
  };
}

const BEAT = Buffer.from(":\n\n");

/** Writes a message as an event (HTML Living Standard, section 9.2); its state is the event's id. */
export function createEventEncoder(
  rule: ReplyRule,
  prefix: TagPrefix,
  gateway: Pick<Gateway, "registry" | "memberNames">,
): (message: Message) => Buffer {
  return memoize((message) => {
    const state = readState(rule, message, prefix);
    const id = state === undefined ? "" : `id: ${state}\n`;
    return Buffer.from(`${id}data: ${replyText(rule, message, gateway)}\n\n`);
  });
}

/** A server stream as events. An event `error` with the error is the last one of a stream that fails. */
export function eventStream(encode: (message: Message) => Buffer, target: Target): StreamReply {
  const { call, gateway } = target;
  return {
    ...opened(target, STREAM_TYPES.events),
    encode,
    beat: BEAT,
    end: (error) => {
      if (error === undefined) return call.http.end();
      const failure = describeFailure(error);
      if (failure.unexpected) gateway.report?.(error, call.http);
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
  if (failure.unexpected) gateway.report?.(error, call.http);
  return jsonText({ error: failureStatus(failure.error, gateway.registry) });
}
