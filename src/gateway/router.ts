import type { Binding } from "./binding.ts";
import { matchesPath, type PathParts, splitPath, withoutVerb } from "./path-match.ts";
import { type PathTemplate, type Segment, templateShape } from "./path-template.ts";
import { refuseRule } from "./rule.ts";

/** The bindings of one path template. */
export interface Route {
  readonly template: PathTemplate;
  /** By HTTP method; several for one method choose by their require_query, in order. */
  readonly methods: ReadonlyMap<string, readonly Binding[]>;
}

/** What a path leads to. */
export interface Match {
  /** Undefined when the path is known, but not with this HTTP method. */
  readonly bindings: readonly Binding[] | undefined;
  /** The path without its verb, for the variables; undefined when there are none. */
  readonly parts: PathParts | undefined;
  /** HTTP methods that the path takes. */
  readonly allow: readonly string[];
}

/** Finds bindings by path and HTTP method. */
export interface Router {
  /** The bindings of a path without variables, as it stands: a table look-up and nothing else. */
  exact(path: string, httpMethod: string): readonly Binding[] | undefined;
  /** The best match of all templates; undefined for an unknown path. */
  search(path: string, httpMethod: string): Match | undefined;
}

/**
 * Makes the router. Where several templates match, texts go before `*` and `*` before `**`.
 *
 * @throws RuleError when a binding can never be reached because an earlier one always matches.
 */
export function createRouter(bindings: readonly Binding[]): Router {
  const routes = createRoutes(bindings);
  const exact = new Map(routes.filter(isExact).map((route) => [route.template.source, route]));
  return {
    exact: (path, httpMethod) => exact.get(path)?.methods.get(httpMethod),
    search: (path, httpMethod) => search(routes, path, httpMethod),
  };
}

function createRoutes(bindings: readonly Binding[]): Route[] {
  const groups = Map.groupBy(bindings, (binding) => templateShape(binding.template));
  return [...groups.values()].flatMap(createRoute).sort(bySpecificity);
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

function isExact(route: Route): boolean {
  const { segments, source } = route.template;
  return segments.every((segment) => segment.kind === "literal") && !source.includes("%");
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
    const bindings = bindingsOf(route, httpMethod);
    if (bindings) return { bindings, parts, allow: [] };
    for (const one of allowedMethods(route)) allow.add(one);
  }
  if (allow.size === 0) return undefined;
  return { bindings: undefined, parts: undefined, allow: [...allow] };
}

function bindingsOf(route: Route, httpMethod: string): readonly Binding[] | undefined {
  const { methods } = route;
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
