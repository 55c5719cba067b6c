import type { JsonObject } from "@bufbuild/protobuf";
import type { Rpc } from "../../../gateway/contract.ts";
import type { Random } from "../../../random.ts";
import { words } from "../../../words.ts";

/** A generated rule, in the parts that decide which requests it matches. */
export interface Rule {
  readonly rpc: string;
  readonly httpMethod: string;
  readonly template: string;
  readonly body: string;
}

const LITERALS = ["a", "b", "v1", "things", "x.y", "~", "a%20b", "%E4%BD%A0", "-", "A", "9"];
const VERBS = ["", "", "", ":cancel", ":a", ":batch.get", ":b%20c"];
const FIELDS = words(`
  text small big count yes ratio raw color part.name part.size part.part.name at note left huge
  part_name expected
`);
const BODIES = ["", "*", "part", "parts", "text", "labels", "note", "at", "numbers", "info", "raw"];
const METHODS = ["get", "get", "post", "put", "patch", "delete"];
/** Templates that every gateway must refuse. */
const BROKEN = [
  "",
  "a",
  "/",
  "/a/",
  "/{",
  "/{text=",
  "/{text=**}/**",
  "/a:",
  "/{text}{big}",
  "/%zz",
];

/** Rpcs with rules of every kind, a few of them invalid. */
export function makeRpcs(random: Random, count: number): Rpc[] {
  return Array.from({ length: count }, (_, index) => {
    const main = makeRule(random);
    const additional = Array.from({ length: random.upTo(2) }, () => makeRule(random));
    return {
      name: `Rpc${index}`,
      http: additional.length > 0 ? { ...main, additionalBindings: additional } : main,
      reads: random.chance(0.3),
      ...(random.chance(0.1) ? { streams: "reply" as const } : {}),
    };
  });
}

function makeRule(random: Random): JsonObject {
  const template = random.chance(0.03) ? random.pick(BROKEN) : makeTemplate(random);
  const body = random.chance(0.5) ? "" : random.pick(BODIES);
  const responseBody = random.chance(0.2) ? random.pick(["word", "labels", "names", "thing"]) : "";
  const method = random.pick(METHODS);
  const rule = random.chance(0.05)
    ? { custom: { kind: random.pick(["*", "LINK", "REPORT"]), path: template } }
    : { [method]: template };
  return { ...rule, ...(method === "get" ? {} : { body }), responseBody };
}

function makeTemplate(random: Random): string {
  const fields = [...FIELDS];
  let hasRest = false;
  const wildcard = (): string => {
    if (hasRest || random.chance(0.7)) return "*";
    hasRest = true;
    return "**";
  };
  const plain = (): string => (random.chance(0.6) ? random.pick(LITERALS) : wildcard());
  const segment = (): string => {
    if (random.chance(0.5)) return plain();
    const [field] = fields.splice(random.upTo(fields.length - 1), 1);
    if (random.chance(0.5)) return `{${field}}`;
    return `{${field}=${Array.from({ length: 1 + random.upTo(2) }, plain).join("/")}}`;
  };
  const segments = Array.from({ length: 1 + random.upTo(4) }, segment);
  return `/${segments.join("/")}${random.pick(VERBS)}`;
}

/** The rules of rpcs. */
export function rulesOf(rpcs: readonly Rpc[]): Rule[] {
  return rpcs.flatMap(({ name, http = {} }) => {
    const { additionalBindings = [], ...main } = http;
    return [main, ...(additionalBindings as JsonObject[])].flatMap((rule) => {
      const { body = "", responseBody: _, custom, ...patterns } = rule;
      const [pattern = ["", ""]] = Object.entries(patterns);
      const { kind, path } = (custom ?? { kind: pattern[0], path: pattern[1] }) as JsonObject;
      const httpMethod = String(kind).toUpperCase();
      return [{ rpc: name, httpMethod, template: String(path), body: String(body) }];
    });
  });
}

/**
 * Whether a rule matches a request: google/api/http.proto, "Path template syntax", implemented
 * separately for the fuzzer. HEAD is answered as GET.
 */
export function names({ httpMethod, template }: Rule, method: string, path: string): boolean {
  const asked = method === "HEAD" && httpMethod === "GET" ? "GET" : method;
  if (httpMethod !== "*" && httpMethod !== asked) return false;
  const [, segments = "", verb = ""] =
    /^\/((?:\{[^}]*\}|[^:])*?)(?::([^:]*))?$/.exec(template) ?? [];
  const parts = path.slice(1).split("/");
  if (verb !== "") {
    const last = parts.at(-1) ?? "";
    const colon = last.lastIndexOf(":");
    if (colon < 0 || decoded(last.slice(colon + 1)) !== decoded(verb)) return false;
    parts[parts.length - 1] = last.slice(0, colon);
  }
  const flat = segments.replace(/\{[^}=]*=([^}]*)\}/g, "$1").replace(/\{[^}]*\}/g, "*");
  return (
    fits(flat.split("/"), parts) ||
    (parts.at(-1) === "" && fits(flat.split("/"), parts.slice(0, -1)))
  );
}

function fits([first, ...rest]: readonly string[], parts: readonly string[]): boolean {
  if (first === undefined) return parts.length === 0;
  if (first === "**")
    return parts.some((_, index) => fits(rest, parts.slice(index))) || fits(rest, []);
  const [part, ...others] = parts;
  if (part === undefined) return false;
  return (first === "*" ? part !== "" : decoded(part) === decoded(first)) && fits(rest, others);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
