import type { IncomingMessage, ServerResponse } from "node:http";
import { type Binding, createBindings } from "./binding.ts";
import { createExchange, type Exchange } from "./exchange.ts";
import { HttpFault } from "./fault.ts";
import type { GatewayOptions } from "./gateway-options.ts";
import type { PathParts } from "./path-match.ts";
import { createResponder } from "./responder.ts";
import { RestCall } from "./rest-call.ts";
import { createRouter, type Match } from "./router.ts";

/** One route, for documentation and tests. */
export interface GatewayRoute {
  readonly httpMethod: string;
  readonly path: string;
  /** The rpc's full name. */
  readonly rpc: string;
}

/** REST in front of rpcs. */
export interface Gateway {
  /**
   * Answers a request whose path has a binding, also with 405 or OPTIONS. Never throws.
   *
   * @returns false for an unknown path: nothing was done, somebody else may answer.
   */
  handle(request: IncomingMessage, response: ServerResponse, requestId: string): boolean;
  /** Answers any request as an unknown path: 404 with the envelope. */
  refuse(request: IncomingMessage, response: ServerResponse, requestId: string): void;
  readonly routes: readonly GatewayRoute[];
}

/**
 * Makes the gateway from the descriptors of its methods.
 *
 * @throws RuleError that names the rpc and the reason when an option can't be served.
 */
export function createGateway(options: GatewayOptions): Gateway {
  const bindings = options.methods.flatMap(createBindings);
  const router = createRouter(bindings);
  const responder = createResponder(options);
  const exchange = createExchange(options, responder);
  const open = (request: IncomingMessage, response: ServerResponse, requestId: string): RestCall =>
    new RestCall(request, response, requestId, options.stopping);
  return {
    handle: (request, response, requestId) => {
      const { path, query } = splitUrl(request.url ?? "");
      const direct = router.exact(path, request.method ?? "");
      if (direct !== undefined) {
        exchange.serve(open(request, response, requestId), { bindings: direct, query });
        return true;
      }
      const match = router.search(path, request.method ?? "");
      if (match === undefined) return false;
      if (options.cors?.preflight(request, response, requestId)) return true;
      serveMatch(exchange, open(request, response, requestId), match, query);
      return true;
    },
    refuse: (request, response, requestId) =>
      responder.fail(open(request, response, requestId), unknownPath(request)),
    routes: bindings.map(describeRoute),
  };
}

/** The fault of a path that nobody serves. */
export function unknownPath(request: IncomingMessage): HttpFault {
  return new HttpFault(
    404,
    `nothing is served at ${splitUrl(request.url ?? "").path.slice(0, 200)}`,
  );
}

function serveMatch(exchange: Exchange, call: RestCall, match: Match, query: string): void {
  if (match.bindings) {
    const parts: PathParts | undefined = match.parts;
    exchange.serve(call, { bindings: match.bindings, query, ...(parts && { parts }) });
    return;
  }
  const allow = match.allow.join(", ");
  if (call.request.method === "OPTIONS") exchange.options(call, allow);
  else exchange.refuse(call, new HttpFault(405, `use ${allow} here`, ["Allow", allow]));
}

function splitUrl(url: string): { path: string; query: string } {
  const mark = url.indexOf("?");
  if (mark < 0) return { path: url, query: "" };
  return { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function describeRoute({ httpMethod, template, rpc }: Binding): GatewayRoute {
  return { httpMethod, path: template.source, rpc };
}
