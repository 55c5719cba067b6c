import type { Message } from "@bufbuild/protobuf";
import type { FastifyReply } from "fastify";
import { memoize } from "../../memoize.ts";
import { writeStreamHead } from "../exchange.ts";
import { describeFailure, failureBody, failureEnvelope } from "../failure.ts";
import { entriesOf, type HttpCall, isGone, sinkOf } from "../http-call.ts";
import type { Gateway } from "../options.ts";
import type { StreamReply } from "../stream.ts";
import { readState, type TagPrefix } from "./entity-tag.ts";
import { replyText } from "./reply.ts";
import type { ReplyRule } from "./reply-rule.ts";

/** Proxies that collect replies (nginx) pass an event on only when they are told so. */
export const EVENT_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-accel-buffering": "no",
};

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

/** A reply of events. Its last one tells the client why it ends. */
export function eventReply(
  reply: FastifyReply,
  call: Pick<HttpCall, "setHeader" | "passesOut">,
  encode: (message: Message) => Buffer,
  { report, registry, errors = "status" }: Pick<Gateway, "report" | "registry" | "errors">,
): StreamReply {
  const response = reply.raw;
  return {
    sink: sinkOf(response),
    isOpen: () => response.headersSent || isGone(response),
    open: () => writeStreamHead(reply, { ...entriesOf(call), ...EVENT_HEADERS }),
    encode,
    beat: BEAT,
    end: (error) => {
      if (error === undefined) return void response.end();
      const failure = describeFailure(error);
      if (failure.unexpected) report?.(error, reply.request);
      const text =
        errors === "envelope" ? failureEnvelope(failure) : failureBody(failure, registry);
      response.end(`event: error\ndata: ${text}\n\n`);
    },
  };
}
