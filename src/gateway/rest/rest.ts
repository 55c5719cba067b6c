import { METHODS } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { withoutOrigin } from "../../transport/request.ts";
import { mount } from "../exchange.ts";
import { badRequest, HttpFault } from "../failure.ts";
import type { Gateway, GatewayOptions } from "../options.ts";
import { type Binding, createBindings } from "./binding.ts";
import { hasParameter, parseQuery } from "./query.ts";
import { bindingsFor, createRouter, type Match } from "./router.ts";
import { type Choice, RestDialect, RestExchange } from "./serve.ts";

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
export function listRoutes({
  methods,
  rules,
}: Pick<GatewayOptions, "methods" | "rules">): GatewayRoute[] {
  return methods
    .flatMap((method) => createBindings(method, rules))
    .map(({ httpMethod, template, rpc }) => ({ httpMethod, path: template.source, rpc }));
}

/**
 * Registers a Fastify route for each rule.
 *
 * @throws RuleError
 * @internal
 */
export function registerRest(fastify: FastifyInstance, gateway: Gateway): void {
  const { reading, warn } = gateway;
  const { trailingSlash } = reading.tolerance;
  const bindings = gateway.methods.flatMap((method) =>
    createBindings(method, gateway.rules, reading),
  );
  const router = createRouter(bindings, { warn, trailingSlash });
  const dialect = new RestDialect(gateway);
  // Rules know nothing of a prefix that the application puts before them.
  const pathOf = (request: FastifyRequest): string =>
    pathAndQuery(request).path.slice(fastify.prefix.length);
  const method = allMethods(fastify);
  for (const { url, exact } of router.urls) {
    const find = (request: FastifyRequest): Match | undefined => {
      const found = exact && bindingsFor(exact, request.method);
      if (found !== undefined) return { bindings: found, parts: undefined, allow: [] };
      return router.search(pathOf(request), request.method);
    };
    mount(fastify, gateway, { method, url }, (request, reply, problem) => {
      const match = find(request);
      if (match?.bindings === undefined) {
        if (match === undefined) dialect.refusePath(request, reply);
        else dialect.refuseMethod(request, reply, match.allow);
        return undefined;
      }
      const choice = choose(match.bindings, pathAndQuery(request).query);
      if (problem !== undefined) choice.problem = problem;
      return new RestExchange(dialect, { ...choice, parts: match.parts }, request, reply);
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

/** The request target's path and query. @internal */
export function pathAndQuery({ raw }: FastifyRequest): { path: string; query: string } {
  const url = withoutOrigin(raw.url ?? "");
  const mark = url.indexOf("?");
  const path = mark < 0 ? url : url.slice(0, mark);
  return { path, query: mark < 0 ? "" : url.slice(mark + 1) };
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
