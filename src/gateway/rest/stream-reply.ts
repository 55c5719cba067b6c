import type { Message } from "@bufbuild/protobuf";
import type { FastifyReply } from "fastify";
import { jsonText } from "../envelope.ts";
import { writeStreamHead } from "../exchange.ts";
import { describeFailure, failureStatus } from "../failure.ts";
import { entriesOf, type HttpCall, isGone, sinkOf } from "../http-call.ts";
import type { Gateway } from "../options.ts";
import type { StreamReply } from "../stream.ts";
import { httpBodyOf, typeOf } from "./http-body.ts";
import { replyText } from "./reply.ts";
import type { ReplyRule } from "./reply-rule.ts";

/** How a server stream is written: a line or an array element of JSON, or an event for each message. */
export type StreamFormat = "lines" | "array" | "events";

/** The format that an Accept header names first; lines where it names none of them. */
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

interface Target {
  readonly reply: FastifyReply;
  readonly call: HttpCall;
  readonly rule: ReplyRule;
  readonly gateway: Gateway;
}

/**
 * A server stream as JSON: a message a line, or an array. An error after the first message is
 * `{"error": google.rpc.Status}` in the place of the next one.
 */
export function jsonStream(format: "lines" | "array", target: Target): StreamReply {
  const { reply, call, rule, gateway } = target;
  const response = reply.raw;
  const isArray = format === "array";
  let count = 0;
  const piece = (text: string): string => {
    count += 1;
    if (!isArray) return `${text}\n`;
    return count === 1 ? `[${text}` : `,\n${text}`;
  };
  const type = isArray ? "application/json; charset=utf-8" : "application/x-ndjson";
  return {
    sink: sinkOf(response),
    isOpen: () => response.headersSent || isGone(response),
    open: () => writeStreamHead(reply, headersOf(call, type)),
    encode: (message) => Buffer.from(piece(replyText(rule, message, gateway))),
    end: (error) => {
      const last = error === undefined ? "" : piece(errorText(error, target));
      const close = count === 0 ? "[]" : "]";
      response.end(isArray ? `${last}${close}` : last);
    },
  };
}

/** A stream of google.api.HttpBody: the bytes of all messages, with the type of the first. */
export function rawStream({ reply, call, rule, gateway }: Target): StreamReply {
  const response = reply.raw;
  const body = (message: Message) => httpBodyOf(message, rule.field);
  const open = (first?: Message): void =>
    writeStreamHead(reply, headersOf(call, typeOf(first && body(first))));
  let begun = false;
  return {
    sink: sinkOf(response),
    isOpen: () => begun || isGone(response),
    // Before the first message its type is not known.
    open: (first) => {
      if (first === undefined) return;
      begun = true;
      open(first);
    },
    encode: (message) => Buffer.from(body(message)?.data ?? []),
    end: (error) => {
      if (!begun) open();
      if (error === undefined) return void response.end();
      if (describeFailure(error).unexpected) gateway.report?.(error, reply.request);
      // No form of the body can tell of it: the reply breaks off.
      response.destroy();
    },
  };
}

function headersOf(call: HttpCall, type: string): Record<string, string | string[]> {
  return {
    ...entriesOf(call),
    "content-type": type,
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  };
}

function errorText(error: unknown, { gateway, reply }: Target): string {
  const failure = describeFailure(error);
  if (failure.unexpected) gateway.report?.(error, reply.request);
  return jsonText({ error: failureStatus(failure.error, gateway.registry) });
}
