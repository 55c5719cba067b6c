import type { Message } from "@bufbuild/protobuf";
import type { Binding } from "./binding.ts";
import { createVariantChooser } from "./compression.ts";
import { type EncodedReply, unchangedHeaders, type Variant } from "./encoded-reply.ts";
import { matchNoneMatch } from "./entity-tag.ts";
import { JSON_TYPE } from "./envelope.ts";
import { describeFailure, type Failure, failureEnvelope } from "./failure.ts";
import type { GatewayOptions } from "./gateway-options.ts";
import { createNegotiator } from "./negotiation.ts";
import { createEncoder, NO_STORE } from "./reply-encoder.ts";
import type { RestCall } from "./rest-call.ts";

/** Writes replies. */
export interface Responder {
  /**
   * Sends a response message as its binding says, or 304 when the client has it already. A promise
   * where encoding takes several turns of the event loop; throws when it can't be encoded.
   */
  succeed(call: RestCall, binding: Binding, message: Message): void | Promise<void>;
  /** Sends an error as envelope; a connection that has begun another reply is cut. Never throws. */
  fail(call: RestCall, error: unknown, binding?: Binding): void;
  /** The envelope of an error; reports it when its words are masked. */
  describe(call: RestCall, error: unknown): Failure;
  /** Headers of every reply to this request but Vary: names and values by turns. */
  headers(call: RestCall): string[];
  /** The Vary header of a reply that has one coding only, as name and value; or nothing. */
  readonly vary: readonly string[];
}

/** Makes the responder of a gateway. */
export function createResponder(options: GatewayOptions): Responder {
  const encode = createEncoder(options);
  const accepted = createNegotiator();
  const chooseVariant = createVariantChooser();
  const vary = options.cors?.varies ? ["Vary", "Origin"] : [];
  const headers = (call: RestCall): string[] => replyHeaders(options, call);
  const describe = (call: RestCall, error: unknown): Failure => {
    const failure = describeFailure(error);
    if (failure.unexpected) options.report?.(error, call);
    return failure;
  };
  const send = (call: RestCall, reply: EncodedReply): void => {
    const seen = seenTag(call, reply);
    if (seen !== undefined) {
      sendNotModified(call, reply, seen, headers(call));
      return;
    }
    const codings = accepted(call.request.headers["accept-encoding"] as string | undefined);
    sendVariant(call, chooseVariant(reply, codings), headers(call));
  };
  return {
    headers,
    vary,
    describe,
    succeed: (call, binding, message) => {
      const reply = encode(binding, message);
      if (reply instanceof Promise) return reply.then((encoded) => send(call, encoded));
      return send(call, reply);
    },
    fail: (call, error, binding) => {
      try {
        const failure = describe(call, error);
        const status = failureStatus(options, failure, binding);
        sendFailure(call, failure, status, [...vary, ...headers(call)]);
      } catch {
        // A header that can't be written, for instance: nothing sensible is left to say.
        call.response.destroy();
      }
    },
  };
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
  const { response, request } = call;
  response.writeHead(200, variant.headers.concat(headers));
  if (request.method === "HEAD") response.end();
  else response.end(variant.body, "latin1");
}

function sendNotModified(
  call: RestCall,
  reply: EncodedReply,
  tag: string,
  headers: string[],
): void {
  const own = tag === reply.tag ? reply.unchanged : unchangedHeaders(reply, tag);
  call.response.writeHead(304, own.concat(headers)).end();
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
  response.writeHead(status, [...own, ...special, ...headers]);
  response.end(call.request.method === "HEAD" ? undefined : body);
}
