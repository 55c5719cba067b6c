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

/**
 * Makes the table of routes. Fastify finds the way to a path; where a path may fit several templates
 * (a verb after a variable, `**`), or lacks the asked method, all templates are looked at: texts go
 * before `*` and `*` before `**`.
 *
 * @throws RuleError when a binding can never be reached because an earlier one always matches.
 */
export function createRouter(bindings: readonly Binding[]): Router {
  const groups = Map.groupBy(bindings, (binding) => templateShape(binding.template));
  const routes = [...groups.values()].flatMap(createRoute).sort(bySpecificity);
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
    search: (path, httpMethod) => search(routes, path, httpMethod),
  };
}

function createRoute(group: readonly Binding[]): Route[] {
  const [first] = group;
  if (first === undefined) return [];
  const methods = Map.groupBy(group, (binding) => binding.httpMethod);
  for (const sharing of methods.values()) checkReachable(sharing);
  return [{ template: first.template, methods }];
}

function checkReachable(sharing: readonly Binding[]): void {
  sharing.forEach((binding, index) => {
    const rival = sharing.slice(0, index).find((earlier) => alwaysBefore(earlier, binding));
    if (rival === undefined) return;
    const { httpMethod, template, method } = binding;
    const where = `${httpMethod} ${template.source}`;
    refuseRule(method.desc, `${where} is never reached: ${rival.rpc} always matches before it`);
  });
}

function alwaysBefore(earlier: Binding, later: Binding): boolean {
  const wide = earlier.request.requireQuery;
  const narrow = later.request.requireQuery;
  if (wide.length === 0) return true;
  return narrow.length > 0 && narrow.every((name) => wide.includes(name));
}

/**
 * The paths that a template covers, as Fastify's router (find-my-way) writes them: `:0` for one
 * segment, `*` for all that follow, `::` for a colon. `**` may also stand for nothing at all.
 */
function urlsOf({ segments, verb }: PathTemplate): string[] {
  const parts = segments.map((segment, index) => urlPart(segment, index));
  const last = segments.at(-1);
  if (last?.kind === "rest") {
    const before = parts
      .slice(0, -1)
      .map((part) => `/${part}`)
      .join("");
    return [`${before}/*`, before === "" ? "/" : `${before}${verb && `::${verb}`}`];
  }
  const suffix = last?.kind === "literal" && verb !== "" ? `::${verb}` : "";
  return [`/${parts.join("/")}${suffix}`];
}

function urlPart(segment: Segment, index: number): string {
  if (segment.kind === "literal") return segment.text.replaceAll(":", "::");
  return segment.kind === "one" ? `:v${index}` : "*";
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
