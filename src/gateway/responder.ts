import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import { createVariantChooser } from "./compression.ts";
import { type EncodedReply, encodeReply, type Variant } from "./encoded-reply.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { JSON_TYPE } from "./envelope.ts";
import { describeFailure, type Failure, failureEnvelope } from "./failure.ts";
import { etagPrefix, type GatewayOptions } from "./gateway-options.ts";
import { createNegotiator } from "./negotiation.ts";
import type { RestCall } from "./rest-call.ts";

/** Writes replies. */
export interface Responder {
  /** Sends a response message as its binding says, or 304 when the client has it already. */
  succeed(call: RestCall, binding: Binding, message: Message): void;
  /** Sends an error as envelope; a connection that has begun another reply is cut. Never throws. */
  fail(call: RestCall, error: unknown, binding?: Binding): void;
  /** The envelope of an error; reports it when its words are masked. */
  describe(call: RestCall, error: unknown): Failure;
  /** Headers of every reply to this request: names and values by turns. */
  headers(call: RestCall): string[];
}

/** The Cache-Control of what must not be kept anywhere. */
export const NO_STORE = "no-store";

/** Makes the responder of a gateway. */
export function createResponder(options: GatewayOptions): Responder {
  const encode = createEncoder(options);
  const accepted = createNegotiator();
  const chooseVariant = createVariantChooser();
  const headers = (call: RestCall): string[] => replyHeaders(options, call);
  const describe = (call: RestCall, error: unknown): Failure => {
    const failure = describeFailure(error);
    if (failure.unexpected) options.report?.(error, call);
    return failure;
  };
  return {
    headers,
    describe,
    succeed: (call, binding, message) => {
      const reply = encode(binding, message);
      const seen = seenTag(call, reply);
      if (seen !== undefined) {
        sendNotModified(call, reply, seen, headers(call));
        return;
      }
      const codings = accepted(call.request.headers["accept-encoding"] as string | undefined);
      sendVariant(call, chooseVariant(reply, codings), headers(call));
    },
    fail: (call, error, binding) => {
      try {
        const failure = describe(call, error);
        sendFailure(call, failure, failureStatus(options, failure, binding), headers(call));
      } catch {
        // A header that can't be written, for instance: nothing sensible is left to say.
        call.response.destroy();
      }
    },
  };
}

type Encoder = (binding: Binding, message: Message) => EncodedReply;

function createEncoder(options: GatewayOptions): Encoder {
  const kept = new Map<Binding, WeakMap<Message, EncodedReply>>();
  const encode = (binding: Binding, message: Message): EncodedReply => {
    const { reply } = binding;
    const cacheControl = readCacheControl(options, binding);
    return encodeReply({ reply, cacheControl, prefix: etagPrefix(options) }, message);
  };
  return (binding, message) => {
    if (!binding.reply.kept) return encode(binding, message);
    let replies = kept.get(binding);
    if (replies === undefined) {
      replies = new WeakMap();
      kept.set(binding, replies);
    }
    let reply = replies.get(message);
    if (reply === undefined) {
      reply = encode(binding, message);
      replies.set(message, reply);
    }
    return reply;
  };
}

function readCacheControl(options: GatewayOptions, binding: Binding): string {
  if (!binding.reply.kept) return NO_STORE;
  return options.cacheControl?.(binding.method.desc) ?? "private, no-store";
}

function replyHeaders(options: GatewayOptions, call: RestCall): string[] {
  const own = ["X-Request-Id", call.requestId];
  const cors = options.cors?.headers(call.request.headers.origin);
  return cors === undefined || cors.length === 0 ? own : own.concat(cors);
}

function seenTag(call: RestCall, reply: EncodedReply): string | undefined {
  const { method, headers } = call.request;
  const header = headers["if-none-match"];
  if (header === undefined || reply.state === undefined) return undefined;
  if (method !== "GET" && method !== "HEAD") return undefined;
  return header === reply.tag ? header : matchNoneMatch(header, reply.state);
}

function sendVariant(call: RestCall, variant: Variant, headers: string[]): void {
  call.response.writeHead(200, variant.headers.concat(headers));
  call.response.end(variant.body, "latin1");
}

function sendNotModified(
  call: RestCall,
  reply: EncodedReply,
  tag: string,
  headers: readonly string[],
): void {
  const vary = reply.compressible ? ["Vary", "Accept-Encoding"] : [];
  const own = ["ETag", tag, "Cache-Control", reply.cacheControl];
  call.response.writeHead(304, [...own, ...vary, ...headers]).end();
}

function failureStatus(
  options: GatewayOptions,
  failure: Failure,
  binding: Binding | undefined,
): number {
  // Only an envelope can say by its code what the status doesn't.
  const shape = binding?.reply.shape ?? "envelope";
  const enveloped = shape === "envelope" || shape === "envelope-null";
  return failure.real || !enveloped || options.httpStatus === "code" ? failure.code : 200;
}

function sendFailure(
  call: RestCall,
  failure: Failure,
  status: number,
  headers: readonly string[],
): void {
  const { response } = call;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = Buffer.from(failureEnvelope(failure));
  const own = ["Content-Type", JSON_TYPE, "Content-Length", String(body.length)];
  const special = ["Cache-Control", NO_STORE, ...failure.headers];
  response.writeHead(status, [...own, ...special, ...headers]).end(body);
}
