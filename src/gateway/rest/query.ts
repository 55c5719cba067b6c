import type { DescMessage, Message } from "@bufbuild/protobuf";
import { badRequest, quote } from "../failure.ts";
import {
  createFieldSetter,
  type FieldPath,
  type FieldSetter,
  fieldPathText,
  findFieldPath,
} from "./field.ts";
import { createTextReader, type TextReader } from "./value.ts";

/** One parameter of a query: its name unescaped, its value as it came. */
export interface QueryPair {
  readonly name: string;
  readonly raw: string;
}

/** The parameters of a query in their order. */
export type Query = readonly QueryPair[];

/** Most parameters in one query, and most elements in one list. */
const MAX_QUERY_ITEMS = 1_000;

const EMPTY: Query = [];

/**
 * Cuts a query string (without its question mark) at `&`. `+` and `%20` are both a space.
 *
 * @throws INVALID_ARGUMENT for more than MAX_QUERY_ITEMS parameters or a broken escape in a name.
 */
export function parseQuery(text: string): Query {
  if (text === "") return EMPTY;
  const parts = text.split("&", MAX_QUERY_ITEMS + 1);
  if (parts.length > MAX_QUERY_ITEMS) {
    throw badRequest(`the query has more than ${MAX_QUERY_ITEMS} parameters`);
  }
  return parts.filter((part) => part !== "").map(parsePair);
}

/** Whether a parameter is there with a value that is not empty. */
export function hasParameter(query: Query, name: string): boolean {
  return query.some((pair) => pair.name === name && pair.raw !== "");
}

/**
 * The value of a parameter, unescaped.
 *
 * @throws INVALID_ARGUMENT that names the parameter when an escape is broken.
 */
export function queryValue(pair: QueryPair): string {
  const value = unescapeQuery(pair.raw);
  if (value === undefined) {
    throw badRequest(
      `query parameter ${quote(pair.name)}: broken % escape in ${quote(pair.raw)}; ` +
        "write a percent sign as %25",
    );
  }
  return value;
}

function parsePair(part: string): QueryPair {
  const equals = part.indexOf("=");
  const rawName = equals < 0 ? part : part.slice(0, equals);
  const name = unescapeQuery(rawName);
  if (name === undefined) {
    throw badRequest(`the query has a parameter name with a broken % escape: ${quote(rawName)}`);
  }
  return { name, raw: equals < 0 ? "" : part.slice(equals + 1) };
}

function unescapeQuery(text: string): string | undefined {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  try {
    // HTTP/2 lets bytes beyond ASCII through, a character each.
    const read = BEYOND_ASCII.test(spaced) ? UTF_8.decode(Buffer.from(spaced, "latin1")) : spaced;
    return read.includes("%") ? decodeURIComponent(read) : read;
  } catch {
    return undefined;
  }
}

const BEYOND_ASCII = /[\x80-\xff]/;
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A request field that a text fills. */
export interface Target {
  /** Proto names joined by dots. */
  readonly field: string;
  readonly repeated: boolean;
  readonly reader: TextReader;
  readonly set: FieldSetter;
}

/** One query parameter of a field that doesn't go by the field's own name. */
export interface NamedParameter {
  readonly name: string;
  readonly commaSeparated: boolean;
}

/** A field and its parameters: the first one that is present and not empty fills it. */
export interface NamedTarget {
  readonly target: Target;
  readonly parameters: readonly NamedParameter[];
}

/** The target of a field path; undefined where the path doesn't exist or no text can fill it. */
export function findTarget(desc: DescMessage, path: string): Target | undefined {
  const fields = findFieldPath(desc, path);
  return fields && createTarget(fields);
}

/** Which fields of a request come from the query. */
export interface ParameterRules {
  readonly desc: DescMessage;
  readonly named: readonly NamedTarget[];
  /** Field paths that the path template or the body fills: the query doesn't. */
  readonly taken: ReadonlySet<string>;
}

/** Fills a request from a query. */
export interface ParameterReader {
  /** Whether a parameter of this name fills any field. */
  knows(name: string): boolean;
  /** @throws INVALID_ARGUMENT that names the parameter and its value. */
  fill(message: Message, query: Query): void;
}

/**
 * Makes the reader of a request's query parameters (google/api/http.proto, "HttpRule"): a parameter
 * goes by its field's path in proto or JSON names. For a singular field the first value counts, a
 * repeated field takes all. An empty value counts as absent, an unknown parameter is passed over.
 */
export function createParameterReader(rules: ParameterRules): ParameterReader {
  const find = createLookup(rules);
  const names = new Set(rules.named.flatMap((one) => one.parameters.map(({ name }) => name)));
  return {
    knows: (name) => names.has(name) || find(name) !== undefined,
    fill: (message, query) => {
      if (query.length === 0) return;
      for (const named of rules.named) fillNamed(message, query, named);
      fillDirect(message, query, find);
    },
  };
}

/** Where a text stands, for messages. */
export interface Place {
  readonly place: string;
  readonly name: string;
}

/** The value of a text for a target. @throws INVALID_ARGUMENT that says where the text stands. */
export function readText(target: Target, text: string, { place, name }: Place): unknown {
  const value = target.reader.read(text);
  if (value !== undefined) return value;
  const { expected } = target.reader;
  throw badRequest(`${place} ${quote(name)}: expected ${expected}, got ${quote(text)}`);
}

function createTarget(path: FieldPath): Target | undefined {
  const leaf = path.at(-1);
  const reader = leaf && createTextReader(leaf);
  if (leaf === undefined || reader === undefined) return undefined;
  const repeated = leaf.fieldKind === "list";
  return { field: fieldPathText(path), repeated, reader, set: createFieldSetter(path) };
}

function createLookup(rules: ParameterRules): (name: string) => Target | undefined {
  const named = new Set(rules.named.map((one) => one.target.field));
  const find = (name: string): Target | undefined => {
    const target = findTarget(rules.desc, name);
    if (target === undefined || named.has(target.field)) return undefined;
    return isTaken(rules.taken, target.field) ? undefined : target;
  };
  const topLevel = rules.desc.fields.flatMap(({ name, jsonName }) => [name, jsonName]);
  const direct = new Map(topLevel.map((name) => [name, find(name)]));
  // Nested names are looked up as they come: a message that holds itself has endlessly many.
  return (name) => (name.includes(".") ? find(name) : direct.get(name));
}

function isTaken(taken: ReadonlySet<string>, field: string): boolean {
  for (let end = field.length; end > 0; end = field.lastIndexOf(".", end - 1)) {
    if (taken.has(field.slice(0, end))) return true;
  }
  return false;
}

function fillNamed(message: Message, query: Query, named: NamedTarget): void {
  const chosen = named.parameters.find(({ name }) => hasParameter(query, name));
  if (chosen === undefined) return;
  const { target } = named;
  const pairs = query.filter((pair) => pair.name === chosen.name && pair.raw !== "");
  const values = (target.repeated ? pairs : pairs.slice(0, 1)).flatMap((pair) =>
    chosen.commaSeparated ? splitList(pair) : [queryValue(pair)],
  );
  checkCount(values, chosen.name);
  for (const value of values) target.set(message, readText(target, value, inQuery(chosen.name)));
}

function fillDirect(
  message: Message,
  query: Query,
  find: (name: string) => Target | undefined,
): void {
  const filled = new Set<string>();
  for (const pair of query) {
    if (pair.raw === "") continue;
    const target = find(pair.name);
    if (target === undefined || (!target.repeated && filled.has(target.field))) continue;
    filled.add(target.field);
    target.set(message, readText(target, queryValue(pair), inQuery(pair.name)));
  }
}

function splitList(pair: QueryPair): string[] {
  return queryValue(pair).split(",", MAX_QUERY_ITEMS + 1);
}

function checkCount(values: readonly string[], name: string): void {
  if (values.length <= MAX_QUERY_ITEMS) return;
  throw badRequest(
    `query parameter ${quote(name)}: a list of more than ${MAX_QUERY_ITEMS} elements`,
  );
}

function inQuery(name: string): Place {
  return { place: "query parameter", name };
}
