import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { Message } from "@bufbuild/protobuf";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { RequestAborted } from "../transport/body.ts";
import { leaveOnceAnswered } from "../transport/request.ts";
import { replyIsMade } from "../transport/slow-reader.ts";
import { type HttpCall, isGone, sinkOf } from "./http-call.ts";
import type { Method } from "./method.ts";
import type { Gateway } from "./options.ts";
import type { StreamReply } from "./stream.ts";

/** Headers of a reply by lower-case name. */
export type ReplyHeaders = Readonly<Record<string, string | number | string[]>>;

/**
 * One HTTP request for an rpc and its reply, in the form of one protocol. `serve` runs the steps in
 * this order: `read`, the rpc, then `send` or `stream`; `fail` in place of what has not run.
 */
export interface Exchange {
  readonly call: HttpCall;
  readonly method: Method;
  /** Reads the request message. @throws ConnectError for a request that can't be read. */
  read(): Message | Promise<Message>;
  /** Encodes a response message, once. @throws UnencodableReply */
  encode(message: Message): unknown;
  /** Sends the response message of a unary rpc. */
  send(message: Message): void | Promise<void>;
  /** The reply of a server stream; undefined: it has been sent and the rpc is not called. */
  stream(): StreamReply | undefined;
  /** Sends an error as the whole reply. */
  fail(error: unknown): void;
}

/**
 * Finds the rpc of a request.
 *
 * @param problem an error of the framework, such as a malformed Content-Type: it becomes the reply
 * after the admission.
 * @returns undefined when the reply has been sent already.
 */
export type OpenExchange = (
  request: FastifyRequest,
  reply: FastifyReply,
  problem: FastifyError | undefined,
) => Exchange | undefined;

/**
 * Registers a route whose requests pass one handler, after all hooks of the application up to
 * `preHandler`. It writes the reply itself, with the headers that hooks have set; hooks `onSend` and
 * serializers do not see it, hooks `onResponse` and `onTimeout` do.
 */
export function mount(
  fastify: FastifyInstance,
  gateway: Gateway,
  route: { readonly method: string[]; readonly url: string },
  open: OpenExchange,
): void {
  const handle = (request: FastifyRequest, reply: FastifyReply, problem?: FastifyError): void => {
    leaveOnceAnswered(request.raw, reply.raw);
    const exchange = open(request, reply, problem);
    if (exchange !== undefined) void serve(gateway, exchange);
  };
  fastify.route({
    ...route,
    exposeHeadRoute: false,
    handler: (request, reply) => handle(request, reply),
    errorHandler: (error, request, reply) => {
      // An error of a hook is the application's to answer. One of the content type comes before
      // the handler: without a token, the reply must say that first.
      if (!CONTENT_TYPE_ERRORS.has(error.code)) throw error;
      handle(request, reply, error);
    },
  });
}

const CONTENT_TYPE_ERRORS: ReadonlySet<string> = new Set([
  "FST_ERR_CTP_INVALID_MEDIA_TYPE",
  "FST_ERR_ROUTE_MISSING_CONTENT_TYPE",
]);

/**
 * Admits a request by its headers, reads it, calls its rpc and sends the reply. A request that was
 * cut off is not carried out and has no reply. Never rejects.
 */
async function serve(gateway: Gateway, exchange: Exchange): Promise<void> {
  const { call, method } = exchange;
  let isRead = false;
  try {
    const admitted = gateway.admit?.(call);
    if (admitted !== undefined) {
      // The socket forgets its address when an HTTP/2 stream is reset.
      if (call.hasBody) void call.peer;
      await admitted;
      if (isGone(call.response)) throw new RequestAborted();
    }
    const reading = exchange.read();
    // Most requests have no body, and a wait costs as much as reading them.
    const message = reading instanceof Promise ? await reading : reading;
    isRead = true;
    call.encode = (reply) => exchange.encode(reply);
    if (method.kind === "unary") {
      const answer = await method.invoke(message, call);
      const sending = exchange.send(answer.message);
      if (sending !== undefined) await sending;
    } else {
      const reply = exchange.stream();
      if (reply !== undefined) await gateway.sendStream(reply, method.invoke(message, call));
    }
  } catch (error) {
    if (!isRead) gateway.turnedAway(error, call);
    if (!isRead && error instanceof RequestAborted) call.response.destroy();
    else
      exchange.fail(error instanceof Error ? error : new Error("not an error", { cause: error }));
  } finally {
    call.done();
    // Over HTTP/2 a large reply leaves piece by piece, as its client reads.
    if (!call.response.writableEnded) replyIsMade(sinkOf(call.response));
  }
}

/** Sends a whole reply, with the headers that hooks have set and its own. */
export function write(
  reply: FastifyReply,
  status: number,
  headers: ReplyHeaders,
  body: Buffer | string,
): void {
  const response = reply.raw;
  if (response.headersSent || isGone(response)) return;
  response.writeHead(status, mergeHeaders(reply, headers));
  response.end(body);
}

/** Sends the head of a reply that is a stream. */
export function writeStreamHead(reply: FastifyReply, headers: ReplyHeaders): void {
  const response: ServerResponse = reply.raw;
  reply.hijack();
  // The server's idle time-out is for requests; streams have bounds of their own.
  response.setTimeout(0);
  response.writeHead(200, mergeHeaders(reply, headers));
  response.flushHeaders();
}

/** Headers of hooks and of the reply, which go first; both may name what the reply varies by. */
function mergeHeaders(reply: FastifyReply, headers: ReplyHeaders): OutgoingHttpHeaders {
  const merged = reply.getHeaders() as OutgoingHttpHeaders;
  const { vary } = merged;
  Object.assign(merged, headers);
  if (typeof vary === "string" && headers["vary"] !== undefined)
    merged["vary"] = `${headers["vary"]}, ${vary}`;
  return merged;
}
