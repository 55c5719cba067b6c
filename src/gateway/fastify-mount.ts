import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { JSON_TYPE } from "./envelope.ts";
import { describeFailure, type Failure, failureEnvelope } from "./failure.ts";
import { HttpFault } from "./fault.ts";
import { type Gateway, unknownPath } from "./gateway.ts";
import { NO_STORE } from "./reply-encoder.ts";

/**
 * Puts a gateway into a Fastify server, before Fastify's own routes: a path that the gateway
 * doesn't know goes on to them. The request id is Fastify's. Register it before registerCors when
 * the gateway has `cors` itself, so that the headers are written once.
 */
export function registerGateway(fastify: FastifyInstance, gateway: Gateway): void {
  fastify.addHook("onRequest", (request, reply, done) => {
    if (gateway.handle(request.raw, reply.raw, request.id)) reply.hijack();
    else done();
  });
}

/** For `fastify.setNotFoundHandler`: 404 with the envelope. */
export function answerNotFound(request: FastifyRequest, reply: FastifyReply): void {
  sendFailure(request, reply, describeFailure(unknownPath(request.raw)));
}

/**
 * For `fastify.setErrorHandler` and Fastify's option `frameworkErrors`: errors of Fastify itself
 * (a URL or a body that it can't read) get their status and the envelope, any other error is masked
 * as 500 and logged with its cause.
 */
export function answerError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const status = error.statusCode ?? 500;
  const words = status >= 400 && status < 500 ? FRAMEWORK_WORDS.get(status) : undefined;
  if (words === undefined && status >= 500) request.log.error({ err: error }, "request failed");
  const fault = status < 500 ? new HttpFault(status, words ?? "the request can't be read") : error;
  sendFailure(request, reply, describeFailure(fault));
}

const FRAMEWORK_WORDS: ReadonlyMap<number, string> = new Map([
  [400, "the request can't be read: check URL, headers and body"],
  [404, "nothing is served here"],
  [405, "this method is not served here"],
  [408, "the request took too long to arrive"],
  [413, "the body is too large"],
  [414, "the URL is too long"],
  [415, "this kind of body is not served here"],
]);

function sendFailure(request: FastifyRequest, reply: FastifyReply, failure: Failure): void {
  reply
    .code(failure.code)
    .headers({ "x-request-id": request.id, "cache-control": NO_STORE })
    .type(JSON_TYPE)
    .send(failureEnvelope(failure));
}
