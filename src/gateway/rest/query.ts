import type { DescField, DescMessage, DescMethod, Message } from "@bufbuild/protobuf";
import { isWrapperDesc } from "@bufbuild/protobuf/wkt";
import { BadRequest } from "../../transport/body.ts";
import { quote } from "../failure.ts";
import {
  createFieldSetter,
  type FieldPath,
  type FieldSetter,
  fieldPathText,
  findField,
  findFieldPath,
} from "./field.ts";
import type { Reading } from "./reading.ts";
import { createTextReader, readValue, type TextReader } from "./value.ts";

/** Parameter of a query: its unescaped name, and its raw value. */
export interface QueryPair {
  readonly name: string;
  readonly raw: string;
  /** The name alone, without `=`: a boolean is true, and any other field is refused. */
  readonly isBare?: true;
}

/** The parameters of a query in order. */
export type Query = readonly QueryPair[];

/** Maximum number of parameters in one query, and of elements in one list. */
export const MAX_QUERY_ITEMS = 1_000;

/**
 * Splits a query string (without its question mark) at `&`. `+` and `%20` are both a space.
 *
 * @throws INVALID_ARGUMENT for more than MAX_QUERY_ITEMS parameters or a broken escape in a name.
 */
export function parseQuery(text: string): Query {
  const pairs: QueryPair[] = [];
  for (const part of text.split("&")) {
    if (part === "") continue;
    if (pairs.length === MAX_QUERY_ITEMS)
      throw new BadRequest(
        "QUERY_INVALID",
        `the query has more than ${MAX_QUERY_ITEMS} parameters`,
      );
    pairs.push(parsePair(part));
  }
  return pairs;
}

/** Reports whether a parameter has a non-empty value. */
export function hasParameter(query: Query, name: string): boolean {
  return query.some((pair) => pair.name === name && pair.raw !== "");
}

/**
 * The value of a parameter, unescaped.
 *
 * @throws INVALID_ARGUMENT with the parameter's name when an escape is broken.
 */
export function queryValue(pair: QueryPair): string {
  const value = unescapeQuery(pair.raw);
  if (value === undefined) {
    throw new BadRequest(
      "QUERY_INVALID",
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
    throw new BadRequest(
      "QUERY_INVALID",
      `the query has a parameter name with a broken % escape: ${quote(rawName)}`,
    );
  }
  return equals < 0 ? { name, raw: "", isBare: true } : { name, raw: part.slice(equals + 1) };
}

function unescapeQuery(text: string): string | undefined {
  if (!ESCAPED.test(text)) return text;
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text;
  try {
    // HTTP/2 allows bytes beyond ASCII, one character each.
    const read = BEYOND_ASCII.test(spaced) ? UTF_8.decode(Buffer.from(spaced, "latin1")) : spaced;
    return read.includes("%") ? decodeURIComponent(read) : read;
  } catch {
    return undefined;
  }
}

const ESCAPED = /[+%\x80-\xff]/;
const BEYOND_ASCII = /[\x80-\xff]/;
const UTF_8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A request field that is set from a text. */
export interface Target {
  /** Proto names joined by dots. */
  readonly field: string;
  /** The field that the text sets: that of the wrapper for the value of a wrapper. */
  readonly filled: string;
  readonly repeated: boolean;
  /** Members of oneofs that the text sets. */
  readonly choices: readonly Choice[];
  readonly reader: TextReader;
  readonly set: FieldSetter;
}

/** A oneof and one of its members, by their paths. */
interface Choice {
  readonly oneof: string;
  readonly member: string;
}

/** Query parameter with its own name for a field. */
export interface NamedParameter {
  readonly name: string;
  readonly commaSeparated: boolean;
}

/** A field and its parameters: the first one that is present and not empty sets it. */
export interface NamedTarget {
  readonly target: Target;
  readonly parameters: readonly NamedParameter[];
}

/** The target of a field path; undefined if it does not exist or has no text form. */
export function findTarget(desc: DescMessage, path: string): Target | undefined {
  const fields = findFieldPath(desc, path);
  return fields && createTarget(fields);
}

/** Request fields that are set from the query. */
export interface ParameterRules {
  readonly method: DescMethod;
  /** The call may change something: an empty number does not count as absent. */
  readonly isWrite: boolean;
  readonly named: readonly NamedTarget[];
  /** Field paths that are set from path or body, and thus not from the query. */
  readonly taken: ReadonlySet<string>;
  /** Parameters that choose between rpcs (require_query), and may set no field. */
  readonly deciding: readonly string[];
  readonly reading: Reading;
  /** Name of the place in messages. */
  readonly place: Place;
}

/** Place of a parameter: the query, or a body that is read as a query. */
export type Place = "query parameter" | "member of the body";

/** Sets the fields of a request from a query. */
export interface ParameterReader {
  /** Reports whether a parameter of this name sets a field. */
  knows(name: string): boolean;
  /** @throws INVALID_ARGUMENT with the parameter's name. */
  fill(message: Message, query: Query): void;
}

/**
 * Creates the reader of a request's query parameters (google/api/http.proto, "HttpRule"): a
 * parameter has its field's path in proto or JSON names, and a repeated field gets all values of
 * that name. Fields of path or body are not set from the query.
 */
export function createParameterReader(rules: ParameterRules): ParameterReader {
  const find = createLookup(rules);
  const names = new Set(rules.named.flatMap((one) => one.parameters.map(({ name }) => name)));
  return {
    knows: (name) => names.has(name) || typeof find(name) === "object",
    fill: (message, query) => {
      if (query.length === 0) return;
      for (const named of rules.named) fillNamed(message, query, named, rules);
      const own = names.size === 0 ? query : query.filter(({ name }) => !names.has(name));
      fillDirect(message, own, find, rules);
    },
  };
}

/**
 * Converts a text to the value of a target.
 *
 * @param parameter that has the text; undefined: the text is from the path.
 * @throws INVALID_ARGUMENT with the text's source.
 */
export function readText(
  target: Target,
  text: string,
  parameter?: { readonly name: string; readonly place: Place },
): unknown {
  const value = target.reader.read(text);
  if (value !== undefined) return value;
  const expected = `expected ${target.reader.expected}, got ${quote(text)}`;
  if (parameter === undefined)
    throw new BadRequest("PATH_INVALID", `path: ${quote(target.field)}: ${expected}`);
  throw badParameter(parameter.name, parameter.place, expected);
}

export function badParameter(name: string, place: Place, problem: string): BadRequest {
  return new BadRequest("QUERY_INVALID", `${place} ${quote(name)}: ${problem}`);
}

function createTarget(path: FieldPath): Target | undefined {
  const leaf = path.at(-1);
  const reader = leaf?.fieldKind === "map" ? undefined : leaf && createTextReader(leaf);
  if (leaf === undefined || reader === undefined) return undefined;
  const repeated = leaf.fieldKind === "list";
  const field = fieldPathText(path);
  const inWrapper = isWrapperDesc(leaf.parent);
  const filled = inWrapper ? field.slice(0, field.lastIndexOf(".")) : field;
  return {
    field,
    filled,
    repeated,
    choices: choicesOf(path),
    reader,
    set: createFieldSetter(path),
  };
}

function choicesOf(path: FieldPath): Choice[] {
  return path.flatMap(({ oneof }, index): Choice[] => {
    if (oneof === undefined) return [];
    const member = fieldPathText(path.slice(0, index + 1) as unknown as FieldPath);
    return [{ oneof: `${member.slice(0, member.lastIndexOf(".") + 1)}${oneof.name}`, member }];
  });
}

/** Reason for which a parameter sets no field: unknown, set otherwise, or without a text form. */
type Unfit = "unknown" | "taken" | "unusable";

function createLookup(rules: ParameterRules): (name: string) => Target | Unfit {
  const named = new Set(rules.named.map((one) => one.target.field));
  const find = (name: string): Target | Unfit => {
    const target = findTarget(rules.method.input, name) ?? findEntry(rules, name);
    if (target === undefined) return reasonFor(rules, name);
    return named.has(target.field) || isTaken(rules.taken, target.field) ? "taken" : target;
  };
  // Created at the first query: a start with 13,000 rules would create 100,000 targets.
  let direct: ReadonlyMap<string, Target | Unfit> | undefined;
  const makeDirect = () => {
    const topLevel = rules.method.input.fields.flatMap(({ name, jsonName }) => [name, jsonName]);
    return new Map(topLevel.map((name) => [name, find(name)]));
  };
  // Nested names are resolved on demand: a recursive message has infinitely many.
  return (name) => {
    direct ??= makeDirect();
    return direct.get(name) ?? (/[.[]/.test(name) ? find(name) : "unknown");
  };
}

/** The target of a map's entry, such as `labels[size]`. */
function findEntry({ method, reading }: ParameterRules, name: string): Target | undefined {
  const desc = method.input;
  const [, path = "", key = ""] = (reading.mapParameters && /^([^[]+)\[(.*)\]$/.exec(name)) || [];
  const fields = path === "" ? undefined : findFieldPath(desc, path);
  const leaf = fields?.at(-1);
  const reader = leaf && createTextReader(leaf);
  if (fields === undefined || leaf?.fieldKind !== "map" || reader === undefined) return undefined;
  const keyType = { scalar: leaf.mapKey, enum: undefined, longAsString: false };
  const read = readValue(keyType, key);
  if (read === undefined) return undefined;
  const set = createFieldSetter(fields);
  const field = fieldPathText(fields);
  return {
    field,
    filled: `${field}[${String(read)}]`,
    repeated: false,
    choices: choicesOf(fields),
    reader,
    set: (message, value) => set(message, [String(read), value]),
  };
}

/** Resolves a name as far as it names fields. */
function reasonFor({ method, taken }: ParameterRules, name: string): Unfit {
  let parent: DescMessage | undefined = method.input;
  const path: string[] = [];
  for (const part of name.split(".")) {
    const [plain = ""] = part.split("[", 1);
    const field: DescField | undefined = parent && findField(parent, plain);
    if (parent === undefined) return "unusable";
    if (field === undefined) return "unknown";
    path.push(field.name);
    if (isTaken(taken, path.join("."))) return "taken";
    if (plain !== part || isFree(field)) return "unusable";
    parent = field.fieldKind === "message" ? field.message : undefined;
  }
  return "unusable";
}

/** Reports whether a field has JSON of any form: its parts have no names that are known. */
function isFree(field: DescField): boolean {
  return /^google\.protobuf\.(?:Struct|Value|ListValue|Any)$/.test(field.message?.typeName ?? "");
}

function isTaken(taken: ReadonlySet<string>, field: string): boolean {
  for (let end = field.length; end > 0; end = field.lastIndexOf(".", end - 1)) {
    if (taken.has(field.slice(0, end))) return true;
  }
  return false;
}

function fillNamed(
  message: Message,
  query: Query,
  { target, parameters }: NamedTarget,
  { isWrite, place }: ParameterRules,
): void {
  const isGiven = (pair: QueryPair): boolean =>
    pair.isBare === true || !isAbsent(pair, target, isWrite);
  const chosen = parameters.find(({ name }) =>
    query.some((pair) => pair.name === name && isGiven(pair)),
  );
  if (chosen === undefined) return;
  const pairs = query.filter((pair) => pair.name === chosen.name && isGiven(pair));
  const values = (target.repeated ? pairs : pairs.slice(0, 1)).flatMap((pair) =>
    chosen.commaSeparated && pair.isBare !== true
      ? splitList(pair)
      : [givenText(pair, target, place)],
  );
  const { name } = chosen;
  if (values.length > MAX_QUERY_ITEMS)
    throw badParameter(name, place, `a list of more than ${MAX_QUERY_ITEMS} elements`);
  for (const value of values) target.set(message, readText(target, value, { name, place }));
}

function fillDirect(
  message: Message,
  query: Query,
  find: (name: string) => Target | Unfit,
  rules: ParameterRules,
): void {
  const { place, reading } = rules;
  const { tolerance } = reading;
  /** The paths of filled fields, and those of oneofs with their member. */
  const filled = new Map<string, string>();
  for (const pair of query) {
    const target = find(pair.name);
    if (typeof target === "string") {
      const problem = problemOf(pair.name, target, rules);
      if (problem !== undefined) throw badParameter(pair.name, place, problem);
      continue;
    }
    if (tolerance.emptyParameters && pair.isBare !== true && isAbsent(pair, target, rules.isWrite))
      continue;
    if (!target.repeated && filled.has(target.filled)) {
      if (tolerance.repeatedParameters) continue;
      throw badParameter(pair.name, place, "given more than once");
    }
    filled.set(target.filled, target.field);
    if (!tolerance.repeatedParameters) checkChoices(target, pair.name, filled, place);
    const text = givenText(pair, target, place);
    target.set(message, readText(target, text, { name: pair.name, place }));
  }
}

/** @throws INVALID_ARGUMENT for a second member of a oneof. */
function checkChoices(
  { choices }: Target,
  name: string,
  chosen: Map<string, string>,
  place: Place,
): void {
  for (const { oneof, member } of choices) {
    const other = chosen.get(oneof) ?? member;
    if (other !== member) throw badParameter(name, place, `can't be given together with ${other}`);
    chosen.set(oneof, member);
  }
}

/** The problem of a parameter that sets no field; undefined: it is ignored. */
function problemOf(
  name: string,
  unfit: Unfit,
  { method, isWrite, deciding, reading: { tolerance, unknownParameters } }: ParameterRules,
): string | undefined {
  if (unfit === "unusable")
    return tolerance.unusableParameters ? undefined : "this field cannot be given as text";
  // A field without a text form, such as a list of messages, cannot be meant.
  if (unfit === "taken" && findTarget(method.input, name) === undefined) return undefined;
  if (typeof unknownParameters === "function")
    return unknownParameters({ name, method, isWrite, isTaken: unfit === "taken" });
  if (unfit !== "unknown" || unknownParameters !== "refuse") return undefined;
  return deciding.includes(name) ? undefined : "no such field";
}

/**
 * Reports whether an empty value (`size=`) counts as absent. For a boolean it never does: `dry_run=`
 * would otherwise save. For a number and an optional text it does in a read only:
 * `expected_etag=` would otherwise drop the condition.
 */
function isAbsent({ raw }: QueryPair, { reader }: Target, isWrite: boolean): boolean {
  return raw === "" && !reader.isFlag && (!isWrite || reader.emptyIsAbsent);
}

/** The text of a parameter: `true` for the name of a boolean alone. */
function givenText(pair: QueryPair, { reader }: Target, place: Place): string {
  if (pair.isBare !== true) return queryValue(pair);
  if (reader.isFlag) return "true";
  throw badParameter(pair.name, place, `a value is missing; expected ${reader.expected}`);
}

function splitList(pair: QueryPair): string[] {
  return queryValue(pair).split(",", MAX_QUERY_ITEMS + 1);
}
