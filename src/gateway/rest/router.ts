import type { PathTolerance } from "../mount-path.ts";
import type { Binding } from "./binding.ts";
import {
  cutVerb,
  isSame,
  matchesPath,
  type PathParts,
  type PathTemplate,
  type Segment,
  splitPath,
  templateShape,
} from "./path.ts";
import { refuseRule } from "./rule.ts";

/** The bindings of one path template. */
interface Route {
  readonly template: PathTemplate;
  /** Position among all routes by specificity: the lowest matching one is used. */
  order: number;
  /** By HTTP method; if a method has several, their require_query chooses, in order. */
  readonly methods: ReadonlyMap<string, readonly Binding[]>;
}

/** Match of a path. */
export interface Match {
  /** Undefined when the path is known, but not with this HTTP method. */
  readonly bindings: readonly Binding[] | undefined;
  /** The path without its verb, for the variables. */
  readonly parts: PathParts | undefined;
  /** HTTP methods that the path supports. */
  readonly allow: readonly string[];
}

/** A path in Fastify's notation, which is routed to the gateway. */
export interface Url {
  readonly url: string;
  /** HTTP methods of its bindings; `*`: all but OPTIONS. */
  readonly methods: ReadonlySet<string>;
  /** The path ends with an asterisk: other routes may have the same one. */
  readonly isWild: boolean;
}

/** Finds bindings by path and HTTP method. */
export interface Router {
  /** Paths to register: those of all templates, or above `maxRoutes` of them their first segments. */
  urls(maxRoutes: number): readonly Url[];
  /** The most specific match of all templates; undefined for an unknown path. */
  search(path: string, httpMethod: string): Match | undefined;
}

/** Options of a router. */
export interface RouterOptions {
  /**
   * Called with a sentence about a binding that can never be reached, which is then omitted.
   * Undefined: such a binding is an error.
   */
  readonly warn?: ((message: string) => void) | undefined;
  readonly tolerance?: PathTolerance | undefined;
}

/**
 * Creates the table of routes. Fastify finds a path without variables, or the literal prefix of a
 * template; `search` then finds the templates in a tree of segments: a verb precedes no verb, literals
 * precede `*`, and `*` precedes `**`.
 *
 * @throws RuleError when a binding can never be reached because an earlier one always matches,
 * unless `warn` is given.
 */
export function createRouter(
  bindings: readonly Binding[],
  { warn, tolerance = {} }: RouterOptions = {},
): Router {
  const { trailingSlash = false, letterCase = false } = tolerance;
  const fold = letterCase ? (text: string) => text.toLowerCase() : undefined;
  const groups = Map.groupBy(bindings, (binding) => templateShape(binding.template));
  const routes = [...groups.values()]
    .flatMap((group) => createRoute(group, warn))
    .sort(bySpecificity);
  const root = createNode();
  routes.forEach((route, order) => {
    route.order = order;
    addRoute(root, route, fold);
  });
  return {
    urls: (maxRoutes) => (routes.length > maxRoutes ? firstSegments(routes) : allUrls(routes)),
    search: (path, httpMethod) => {
      const found = search(root, path, httpMethod, fold);
      if (found !== undefined || !trailingSlash || !/[^/]\/$/.test(path)) return found;
      return search(root, path.slice(0, -1), httpMethod, fold);
    },
  };
}

function allUrls(routes: readonly Route[]): Url[] {
  return joinUrls(routes, ({ template }) => urlsOf(template));
}

function firstSegments(routes: readonly Route[]): Url[] {
  return joinUrls(routes, ({ template }) => urlsOf(template, 1));
}

function joinUrls(
  routes: readonly Route[],
  urlsOfRoute: (route: Route) => readonly string[],
): Url[] {
  const entries = routes.flatMap((route) => urlsOfRoute(route).map((url) => ({ url, route })));
  return [...Map.groupBy(entries, ({ url }) => url)].map(([url, sharing]) => ({
    url,
    methods: new Set(sharing.flatMap(({ route }) => servedMethods(route))),
    isWild: url.endsWith("/*"),
  }));
}

/** HEAD is answered as GET. */
function servedMethods({ methods }: Route): string[] {
  const names = [...methods.keys()];
  return names.includes("GET") ? [...names, "HEAD"] : names;
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
  return [
    {
      template: first.template,
      order: 0,
      methods: Map.groupBy(reachable, (one) => one.httpMethod),
    },
  ];
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
 * Paths that a template covers, in the notation of Fastify's router (find-my-way): `*` for the
 * rest, `::` for a colon. A template with variables is registered by its literal prefix: `:name` of
 * that router accepts at most maxParamLength characters. `**` may also be empty.
 *
 * @param most maximum number of literal segments. Default: all.
 */
function urlsOf({ segments, verb }: PathTemplate, most = segments.length): string[] {
  const open = segments.findIndex(({ kind }, index) => kind !== "literal" || index === most);
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

const RANK = { literal: 0, one: 1, rest: 2 } as const;

/** A verb precedes all: a path with it is no resource name with a colon in it (as in Envoy). */
function bySpecificity(one: Route, other: Route): number {
  const [a, b] = [one.template, other.template];
  const byVerb = Number(a.verb === "") - Number(b.verb === "");
  if (byVerb !== 0) return byVerb;
  const length = Math.max(a.segments.length, b.segments.length);
  for (let index = 0; index < length; index++) {
    const difference = rank(a.segments[index]) - rank(b.segments[index]);
    if (difference !== 0) return difference;
  }
  return 0;
}

/**
 * The end of a template precedes `**`, which may be empty, and follows the segments after a `**`.
 */
function rank(segment: Segment | undefined): number {
  return segment === undefined ? 1.5 : RANK[segment.kind];
}

/** Node in the tree of all templates. */
interface Node {
  readonly literals: Map<string, Node>;
  one: Node | undefined;
  /** Templates that end here. */
  readonly ends: Route[];
  /** Templates whose `**` begins here. */
  readonly rests: Route[];
}

function createNode(): Node {
  return { literals: new Map(), one: undefined, ends: [], rests: [] };
}

/** Makes texts that a router does not distinguish equal. */
type Fold = ((text: string) => string) | undefined;

function addRoute(root: Node, route: Route, fold: Fold): void {
  let node = root;
  for (const segment of route.template.segments) {
    if (segment.kind === "rest") {
      node.rests.push(route);
      return;
    }
    node = childOf(node, segment, fold);
  }
  node.ends.push(route);
}

function childOf(node: Node, segment: Exclude<Segment, { kind: "rest" }>, fold: Fold): Node {
  if (segment.kind === "one") {
    node.one ??= createNode();
    return node.one;
  }
  const text = fold?.(segment.text) ?? segment.text;
  const known = node.literals.get(text);
  if (known !== undefined) return known;
  const child = createNode();
  node.literals.set(text, child);
  return child;
}

/** A route that matches, with the path without the verb of its template. */
interface Found {
  readonly route: Route;
  readonly parts: PathParts;
}

/** A path, and its matching routes. */
interface Search {
  /** The path without its verb. */
  readonly parts: PathParts;
  readonly verb: string;
  readonly found: Found[];
  readonly fold: Fold;
}

/** Adds the routes below a node that match the path from its segment `at` on. */
function collect(node: Node, at: number, search: Search): void {
  const { parts, verb, found, fold } = search;
  for (const route of node.rests) {
    const { template } = route;
    if (isSame(template.verb, verb, fold) && matchesPath(template.segments, parts, fold))
      found.push({ route, parts });
  }
  const raw = parts.raw[at];
  if (raw === undefined) {
    for (const route of node.ends)
      if (isSame(route.template.verb, verb, fold)) found.push({ route, parts });
    return;
  }
  const text = parts.text[at];
  const literal = text === undefined ? undefined : node.literals.get(fold?.(text) ?? text);
  if (literal !== undefined) collect(literal, at + 1, search);
  if (node.one !== undefined && raw !== "") collect(node.one, at + 1, search);
}

/** All routes that match a path, the most specific one first. */
function findRoutes(root: Node, path: string, fold: Fold): readonly Found[] {
  const found: Found[] = [];
  const whole = splitPath(path);
  collect(root, 0, { parts: whole, verb: "", found, fold });
  const cut = cutVerb(whole);
  if (cut !== undefined) collect(root, 0, { ...cut, found, fold });
  return found.length < 2 ? found : found.sort((a, b) => a.route.order - b.route.order);
}

function search(root: Node, path: string, httpMethod: string, fold: Fold): Match | undefined {
  const routes = findRoutes(root, path, fold);
  for (const { route, parts } of routes) {
    const bindings = bindingsFor(route.methods, httpMethod);
    if (bindings) return { bindings, parts, allow: NONE };
  }
  if (routes.length === 0) return undefined;
  const allow = new Set(routes.flatMap(({ route }) => allowedMethods(route)));
  return { bindings: undefined, parts: undefined, allow: [...allow] };
}

const NONE: readonly string[] = [];

/** HEAD is answered as GET; a binding of any method serves all others, except OPTIONS. */
function bindingsFor(
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
