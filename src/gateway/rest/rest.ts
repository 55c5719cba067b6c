import { METHODS } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { leaveOnceAnswered, withoutOrigin } from "../../transport/request.ts";
import { createExchanges } from "../exchange.ts";
import { badRequest, HttpFault } from "../failure.ts";
import { HttpCall } from "../http-call.ts";
import type { Gateway } from "../options.ts";
import { type Binding, createBindings } from "./binding.ts";
import { hasParameter, parseQuery } from "./query.ts";
import { bindingsFor, createRouter, type Match } from "./router.ts";
import { type Choice, createFailing, createServing, type Exchange } from "./serve.ts";

/** One route, for documentation and tests. */
export interface GatewayRoute {
  readonly httpMethod: string;
  readonly path: string;
  /** The rpc's full name. */
  readonly rpc: string;
}

/**
 * The REST routes of rpcs.
 *
 * @throws RuleError
 */
export function listRoutes({ methods, rules }: Pick<Gateway, "methods" | "rules">): GatewayRoute[] {
  return methods
    .flatMap((method) => createBindings(method, rules))
    .map(({ httpMethod, template, rpc }) => ({ httpMethod, path: template.source, rpc }));
}

/**
 * Registers a Fastify route for each rule.
 *
 * @throws RuleError
 */
export function registerRest(fastify: FastifyInstance, gateway: Gateway): void {
  const bindings = gateway.methods.flatMap((method) => createBindings(method, gateway.rules));
  const router = createRouter(bindings);
  const exchanges = createExchanges<Exchange>(fastify);
  const serve = createServing(gateway);
  const fail = createFailing(gateway);
  // Rules know nothing of a prefix that the application puts before them.
  const pathOf = (request: FastifyRequest): string =>
    pathAndQuery(request).path.slice(fastify.prefix.length);
  const handler = (request: FastifyRequest, reply: FastifyReply): void => {
    const exchange = exchanges.get(request);
    if (exchange) void serve(exchange, reply);
  };
  const open = (
    request: FastifyRequest,
    reply: FastifyReply,
    match: Match,
  ): HttpCall | undefined => {
    if (match.bindings === undefined) {
      answerOtherMethod(request, reply, match.allow);
      return undefined;
    }
    const choice = choose(match.bindings, pathAndQuery(request).query);
    const { raw, id } = request;
    const { desc } = choice.binding.method;
    const { peerOf } = gateway;
    const call = new HttpCall(desc, "rest", { request: raw, response: reply.raw, id, peerOf });
    exchanges.set(request, { ...choice, call, parts: match.parts });
    return call;
  };
  const method = allMethods(fastify);
  for (const { url, exact } of router.urls) {
    const find = (request: FastifyRequest): Match | undefined => {
      const found = exact && bindingsFor(exact, request.method);
      if (found !== undefined) return { bindings: found, parts: undefined, allow: [] };
      return router.search(pathOf(request), request.method);
    };
    fastify.route({
      method,
      url,
      exposeHeadRoute: false,
      errorHandler: (error, request, reply) => fail(error, exchanges.get(request), request, reply),
      // After every hook for requests, before a byte of the body is read.
      preParsing: (request, reply, _payload, done) => {
        leaveOnceAnswered(request.raw, reply.raw);
        try {
          const match = find(request);
          if (match === undefined) return reply.callNotFound();
          const call = open(request, reply, match);
          if (call) gateway.enter(call, done);
        } catch (error) {
          done(error as Error);
        }
      },
      handler,
    });
  }
}

/** All methods that Node reads, so that a known path can say which of them it takes. */
function allMethods(fastify: FastifyInstance): string[] {
  const known = new Set<string>(fastify.supportedMethods);
  for (const name of METHODS)
    if (name !== "CONNECT" && !known.has(name)) fastify.addHttpMethod(name, { hasBody: true });
  return fastify.supportedMethods;
}

function answerOtherMethod(
  request: FastifyRequest,
  reply: FastifyReply,
  methods: readonly string[],
): void {
  const allow = methods.join(", ");
  if (request.method !== "OPTIONS") throw new HttpFault(405, `use ${allow} here`, { allow });
  reply.code(204).header("allow", allow).send();
}

/** The request target's path and query. */
export function pathAndQuery({ raw }: FastifyRequest): { path: string; query: string } {
  const url = withoutOrigin(raw.url ?? "");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path: withoutEndSlash(path), query: mark < 0 ? "" : url.slice(mark + 1) };
}

/** A slash at the end says nothing: servers of this kind have always answered it. */
function withoutEndSlash(path: string): string {
  return path.length > 1 && path.endsWith("/") && !path.endsWith("//") ? path.slice(0, -1) : path;
}

function choose(bindings: readonly Binding[], text: string): Choice {
  let [binding] = bindings;
  if (binding === undefined) throw new HttpFault(404, "nothing is served here");
  try {
    const query = needsQuery(bindings, text) ? parseQuery(text) : [];
    const chosen = bindings.find(({ request: { requireQuery } }) => {
      return requireQuery.length === 0 || requireQuery.some((name) => hasParameter(query, name));
    });
    if (chosen !== undefined) {
      binding = chosen;
      return { binding, query };
    }
    const names = [...new Set(bindings.flatMap(({ request }) => request.requireQuery))];
    const kind = names.length === 1 ? "the query parameter" : "one of the query parameters";
    throw badRequest(`give ${kind} ${names.join(", ")}`);
  } catch (problem) {
    return { binding, query: [], problem };
  }
}

function needsQuery(bindings: readonly Binding[], text: string): boolean {
  if (text === "") return false;
  return bindings.length > 1 || bindings.some(({ request }) => takesQuery(request));
}

function takesQuery({ query, requireQuery }: Binding["request"]): boolean {
  return query !== undefined || requireQuery.length > 0;
}
