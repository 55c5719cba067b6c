import type { Binding } from "./binding.ts";
import {
  matchesPath,
  type PathParts,
  type PathTemplate,
  type Segment,
  splitPath,
  templateShape,
  withoutVerb,
} from "./path.ts";
import { refuseRule } from "./rule.ts";

/** The bindings of one path template. */
interface Route {
  readonly template: PathTemplate;
  /** By HTTP method; several for one method choose by their require_query, in order. */
  readonly methods: ReadonlyMap<string, readonly Binding[]>;
}

/** What a path leads to. */
export interface Match {
  /** Undefined when the path is known, but not with this HTTP method. */
  readonly bindings: readonly Binding[] | undefined;
  /** The path without its verb, for the variables. */
  readonly parts: PathParts | undefined;
  /** HTTP methods that the path takes. */
  readonly allow: readonly string[];
}

/** A path in Fastify's own words, which leads to the gateway. */
export interface Url {
  readonly url: string;
  /** What a path without variables leads to, by HTTP method; for any other path see `search`. */
  readonly exact: ReadonlyMap<string, readonly Binding[]> | undefined;
}

/** Finds bindings by path and HTTP method. */
export interface Router {
  readonly urls: readonly Url[];
  /** The best match of all templates; undefined for an unknown path. */
  search(path: string, httpMethod: string): Match | undefined;
}

/** How a router is made. */
export interface RouterOptions {
  /**
   * Takes the sentence about a binding that can never be reached, which is then left out. Undefined:
   * such a binding is an error.
   */
  readonly warn?: ((message: string) => void) | undefined;
  /** A slash at the end of a path that fits no template with it is left out. */
  readonly trailingSlash?: boolean | undefined;
}

/**
 * Makes the table of routes. Fastify finds a path without variables, or the text that a template
 * begins with; all templates are looked at then: texts go before `*` and `*` before `**`.
 *
 * @throws RuleError when a binding can never be reached because an earlier one always matches, unless
 * `warn` takes the message.
 */
export function createRouter(
  bindings: readonly Binding[],
  { warn, trailingSlash = false }: RouterOptions = {},
): Router {
  const groups = Map.groupBy(bindings, (binding) => templateShape(binding.template));
  const routes = [...groups.values()]
    .flatMap((group) => createRoute(group, warn))
    .sort(bySpecificity);
  const byUrl = Map.groupBy(
    routes.flatMap((route) => urlsOf(route.template).map((url) => ({ url, route }))),
    ({ url }) => url,
  );
  return {
    urls: [...byUrl].map(([url, entries]) => {
      const sharing = entries.map(({ route }) => route);
      const [only] = sharing;
      const exact = sharing.length === 1 && only && isExact(only) ? only.methods : undefined;
      return { url, exact };
    }),
    search: (path, httpMethod) => {
      const found = search(routes, path, httpMethod);
      if (found !== undefined || !trailingSlash || !/[^/]\/$/.test(path)) return found;
      return search(routes, path.slice(0, -1), httpMethod);
    },
  };
}

function createRoute(group: readonly Binding[], warn: RouterOptions["warn"]): Route[] {
  const [first] = group;
  if (first === undefined) return [];
  const reachable: Binding[] = [];
  for (const binding of group) {
    const rival = reachable.find(
      (earlier) => earlier.httpMethod === binding.httpMethod && alwaysBefore(earlier, binding),
    );
    if (rival === undefined) reachable.push(binding);
    else refuseShadowed(binding, rival, warn);
  }
  return [{ template: first.template, methods: Map.groupBy(reachable, (one) => one.httpMethod) }];
}

function refuseShadowed(
  { httpMethod, template, method, rpc }: Binding,
  rival: Binding,
  warn: RouterOptions["warn"],
): void {
  const where = `${httpMethod} ${template.source}`;
  const reason = `${where} is never reached: ${rival.rpc} always matches before it`;
  if (warn === undefined) refuseRule(method.desc, reason);
  warn(`${rpc}: ${reason}`);
}

function alwaysBefore(earlier: Binding, later: Binding): boolean {
  const wide = earlier.request.requireQuery;
  const narrow = later.request.requireQuery;
  if (wide.length === 0) return true;
  return narrow.length > 0 && narrow.every((name) => wide.includes(name));
}

/**
 * The paths that a template covers, as Fastify's router (find-my-way) writes them: `*` for all that
 * follows, `::` for a colon. A template with variables goes by the text before its first one: `:name`
 * of that router takes no more than maxParamLength characters. `**` may also stand for nothing at all.
 */
function urlsOf({ segments, verb }: PathTemplate): string[] {
  const open = segments.findIndex((segment) => segment.kind !== "literal");
  const texts = open < 0 ? segments : segments.slice(0, open);
  const before = texts
    .map((segment) => (segment.kind === "literal" ? `/${urlText(segment.text)}` : ""))
    .join("");
  const end = verb && `::${urlText(verb)}`;
  if (open < 0) return [before === "" ? "/" : `${before}${end}`];
  const wild = `${before}/*`;
  const mayBeEmpty = segments.at(open)?.kind === "rest" && open === segments.length - 1;
  return mayBeEmpty ? [wild, before === "" ? "/" : `${before}${end}`] : [wild];
}

function urlText(text: string): string {
  return text.replaceAll(":", "::");
}

function isExact({ template }: Route): boolean {
  return template.segments.every((segment) => segment.kind === "literal");
}

const RANK = { literal: 0, one: 1, rest: 2 } as const;

function bySpecificity(one: Route, other: Route): number {
  const [a, b] = [one.template, other.template];
  const length = Math.max(a.segments.length, b.segments.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(a.segments[index]) - rank(b.segments[index]);
    if (difference !== 0) return difference;
  }
  return Number(a.verb === "") - Number(b.verb === "");
}

function rank(segment: Segment | undefined): number {
  return segment === undefined ? -1 : RANK[segment.kind];
}

function search(routes: readonly Route[], path: string, httpMethod: string): Match | undefined {
  const whole = splitPath(path);
  const allow = new Set<string>();
  for (const route of routes) {
    const parts = withoutVerb(whole, route.template.verb);
    if (parts === undefined || !matchesPath(route.template.segments, parts)) continue;
    const bindings = bindingsFor(route.methods, httpMethod);
    if (bindings) return { bindings, parts, allow: [] };
    for (const one of allowedMethods(route)) allow.add(one);
  }
  if (allow.size === 0) return undefined;
  return { bindings: undefined, parts: undefined, allow: [...allow] };
}

/** HEAD is answered as GET; a binding of any method takes what has none of its own, but OPTIONS. */
export function bindingsFor(
  methods: Route["methods"],
  httpMethod: string,
): readonly Binding[] | undefined {
  const own = methods.get(httpMethod);
  if (own) return own;
  const asGet = httpMethod === "HEAD" ? methods.get("GET") : undefined;
  return asGet ?? (httpMethod === "OPTIONS" ? undefined : methods.get("*"));
}

function allowedMethods(route: Route): string[] {
  const names = [...route.methods.keys()].filter((name) => name !== "*");
  const head = names.includes("GET") && !names.includes("HEAD") ? ["HEAD"] : [];
  return [...names, ...head, "OPTIONS"];
}
