import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Unfinished } from "../transport/body.ts";
import { replyIsMade } from "../transport/slow-reader.ts";
import { type HttpCall, sinkOf } from "./http-call.ts";

/** What the first hook has found out of a request, for its handler. */
export interface Exchanges<T> {
  get(request: FastifyRequest): T | undefined;
  set(request: FastifyRequest, exchange: T): void;
}

/** Kept as a member of the request: a WeakMap would cost 1 µs a call. */
export function createExchanges<T>(fastify: FastifyInstance): Exchanges<T> {
  const name = Symbol("exchange");
  fastify.decorateRequest(name, null);
  return {
    get: (request) => membersOf<T>(request)[name] ?? undefined,
    set: (request, exchange) => {
      membersOf<T>(request)[name] = exchange;
    },
  };
}

function membersOf<T>(request: FastifyRequest): Record<symbol, T | null> {
  return request as unknown as Record<symbol, T | null>;
}

/** How a door carries its requests out, of exchanges with their calls. */
export interface Steps<E, T> {
  /** Makes the request's message; what fails there, its rpc never hears of. */
  read(exchange: E): T | Promise<T>;
  answer(exchange: E, reply: FastifyReply, message: T): Promise<void>;
  turnedAway(error: unknown, call: HttpCall): void;
}

/**
 * Carries a request out that was let in. What fails on the way is its reply, unless it never ended:
 * then nothing is sent. Never rejects.
 */
export async function carryOut<E extends { readonly call: HttpCall }, T>(
  exchange: E,
  reply: FastifyReply,
  steps: Steps<E, T>,
): Promise<void> {
  const { call } = exchange;
  let isRead = false;
  try {
    const reading = steps.read(exchange);
    // Most requests have no body, and a wait costs as much as reading them.
    const message = reading instanceof Promise ? await reading : reading;
    isRead = true;
    await steps.answer(exchange, reply, message);
  } catch (error) {
    if (!isRead) {
      call.done();
      steps.turnedAway(error, call);
    }
    if (!isRead && error instanceof Unfinished) abandon(reply);
    // Fastify sends what is no error as a reply.
    else reply.send(error instanceof Error ? error : new Error("not an error", { cause: error }));
  } finally {
    call.done();
    // Over HTTP/2 Fastify writes a large reply piece by piece, as its client reads.
    if (!reply.raw.writableEnded) replyIsMade(sinkOf(reply.raw));
  }
}

/** For a request whose client is gone: nothing is sent. */
function abandon(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.destroy();
}
