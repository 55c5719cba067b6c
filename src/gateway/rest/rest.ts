import { BadRequest } from "../../transport/body.ts";
import type { Exchange, Http } from "../exchange.ts";
import { HttpFault } from "../failure.ts";
import type { Gateway, GatewayOptions } from "../options.ts";
import { type Binding, createBindings } from "./binding.ts";
import { hasParameter, parseQuery } from "./query.ts";
import { bindingsFor, createRouter, type Match, type Router, type Url } from "./router.ts";
import { type Choice, RestExchange, RestReplies } from "./serve.ts";

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

/** Properties of a request from the server, besides its HTTP parts. */
interface Known {
  /** The bindings of the path, if the server has found it itself. */
  readonly exact?: Url["exact"];
  /** Error of the framework; sent after the admission. */
  readonly problem?: unknown;
}

/** REST by `google.api.http` rules. @internal */
export class RestDialect {
  /** Paths to register, in the notation of Fastify's router. */
  readonly urls: readonly Url[];
  readonly #router: Router;
  readonly #replies: RestReplies;

  /** @throws RuleError */
  constructor(gateway: Gateway) {
    const { reading, warn, rules } = gateway;
    const { trailingSlash } = reading.tolerance;
    const bindings = gateway.methods.flatMap((method) => createBindings(method, rules, reading));
    this.#router = createRouter(bindings, { warn, trailingSlash });
    this.#replies = new RestReplies(gateway);
    this.urls = this.#router.urls;
  }

  /** Finds the rpc of a request; `answered`: the path does not support its method. */
  open(http: Http, { exact, problem }: Known = {}): Exchange | "answered" | "unknown" {
    const match = this.#find(http, exact);
    if (match === undefined) return "unknown";
    if (match.bindings === undefined) {
      this.#refuseMethod(http, match.allow);
      return "answered";
    }
    const choice = choose(match.bindings, match.parts, http.query);
    if (problem !== undefined) choice.problem = problem;
    return new RestExchange(this.#replies, choice, http);
  }

  #find(http: Http, exact: Url["exact"]): Match | undefined {
    const found = exact && bindingsFor(exact, http.method);
    if (found !== undefined) return { bindings: found, parts: undefined, allow: [] };
    return this.#router.search(http.path, http.method);
  }

  /** Answers a method that a known path does not support (RFC 9110, sections 9.3.7 and 15.5.6). */
  #refuseMethod(http: Http, methods: readonly string[]): void {
    const allow = methods.join(", ");
    if (http.method === "OPTIONS") http.respond(204, { allow }, "");
    else this.refuse(http, new HttpFault(405, `use ${allow} here`, { allow }));
  }

  /** Answers a path without a rule. */
  refusePath(http: Http): void {
    this.refuse(http, new HttpFault(404, "nothing is served here"));
  }

  /** Answers a request that has no rule yet. */
  refuse(http: Http, fault: HttpFault): void {
    this.#replies.gateway.explained(fault, http);
    this.#replies.fail(fault, undefined, http);
  }
}

function choose(bindings: readonly Binding[], parts: Choice["parts"], text: string): Choice {
  let [binding] = bindings;
  if (binding === undefined) throw new HttpFault(404, "nothing is served here");
  try {
    const query = needsQuery(bindings, text) ? parseQuery(text) : [];
    const chosen = bindings.find(({ request: { requireQuery } }) => {
      return requireQuery.length === 0 || requireQuery.some((name) => hasParameter(query, name));
    });
    if (chosen !== undefined) {
      binding = chosen;
      return { binding, query, parts, problem: undefined };
    }
    const names = [...new Set(bindings.flatMap(({ request }) => request.requireQuery))];
    const kind = names.length === 1 ? "the query parameter" : "one of the query parameters";
    throw new BadRequest("QUERY_INVALID", `give ${kind} ${names.join(", ")}`);
  } catch (problem) {
    return { binding, query: [], parts, problem };
  }
}

function needsQuery(bindings: readonly Binding[], text: string): boolean {
  if (text === "") return false;
  return bindings.length > 1 || bindings.some(({ request }) => takesQuery(request));
}

function takesQuery({ query, requireQuery }: Binding["request"]): boolean {
  return query !== undefined || requireQuery.length > 0;
}
