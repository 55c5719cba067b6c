import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  ScalarType,
  toJson,
} from "@bufbuild/protobuf";
import { FieldMaskSchema, hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import {
  type QueryParameter,
  type Rest,
  Rest_Reply,
} from "../../../gen/mooring/rest/v1/rest_pb.js";
import { BadRequest } from "../../transport/body.ts";
import type { Call } from "../call.ts";
import { isRead } from "../method.ts";
import { readIfMatch, readLastEventId, type TagPrefix } from "./entity-tag.ts";
import { createFieldSetter, findField, findStateField, type StateField } from "./field.ts";
import { anyBodyMessage, isAnyBody } from "./http-body.ts";
import { holdsNull, isJsonObject, type JsonRules } from "./json-fit.ts";
import { fieldFromJson, messageFromJson } from "./json-message.ts";
import type { PathTemplate } from "./path.ts";
import {
  badParameter,
  createParameterReader,
  findTarget,
  MAX_QUERY_ITEMS,
  type NamedTarget,
  type ParameterReader,
  type Place,
  parseQuery,
  type Query,
  queryValue,
  readText,
  type Target,
} from "./query.ts";
import type { Reading } from "./reading.ts";
import { type BodyRule, type Rule, refuseRule } from "./rule.ts";

/** Request rule of a binding, resolved to the fields of its message. */
export interface RequestRule {
  readonly method: DescMethod;
  /** The call may change something. */
  readonly isWrite: boolean;
  readonly desc: DescMessage;
  /** One target per variable of the path template. */
  readonly path: readonly Target[];
  /** Undefined when no field can be set from the query. */
  readonly query: ParameterReader | undefined;
  /** Reads the members of a body as a query; undefined: the body is none, or has its own fields. */
  readonly bodyParameters: ParameterReader | undefined;
  readonly requireQuery: readonly string[];
  readonly body: BodyRule;
  /** The body is a google.api.HttpBody, whose bytes are taken unchanged. */
  readonly raw: boolean;
  /** The update mask that is set from the members of the body; undefined: none. */
  readonly mask: DescField | undefined;
  readonly ifMatch: StateField | undefined;
  readonly lastEventId: StateField | undefined;
}

/** @throws RuleError for options that do not match the request message. */
export function createRequestRule(
  method: DescMethod,
  rule: Rule,
  rest: Rest,
  { template, reading }: { readonly template: PathTemplate; readonly reading: Reading },
): RequestRule {
  const desc = method.input;
  const path = template.variables.map(({ field }) => findPathTarget(method, field));
  const body = findBody(method, rule);
  const isWrite = !isRead(method) && rule.httpMethod !== "GET" && rule.httpMethod !== "HEAD";
  const sources = { path, body, reading, isWrite };
  const query = createQuery(method, rest, { ...sources, place: "query parameter" });
  const hasParameterBody =
    reading.tolerance.parameterBodies === true &&
    body.kind === "none" &&
    rule.httpMethod !== "GET" &&
    rule.httpMethod !== "HEAD";
  const bodyParameters = hasParameterBody
    ? createQuery(method, rest, { ...sources, place: "member of the body" })
    : undefined;
  checkRequired(method, rest, query, body);
  const ifMatch =
    rest.ifMatch === "" ? undefined : findStateField(method, "if_match", rest.ifMatch);
  const lastEventId = findResume(method, rest);
  const mask = reading.fillUpdateMask ? findMask(desc, rule, body) : undefined;
  const { requireQuery } = rest;
  const raw = isAnyBody({ desc, body });
  return {
    method,
    isWrite,
    desc,
    path,
    query,
    bodyParameters,
    requireQuery,
    body,
    raw,
    mask,
    ifMatch,
    lastEventId,
  };
}

function findPathTarget(method: DescMethod, field: string): Target {
  const target = findTarget(method.input, field);
  if (target === undefined || target.repeated) {
    return refuseRule(
      method,
      `path variable {${field}} names no singular scalar field of ${method.input.typeName}`,
    );
  }
  return target;
}

function findBody(method: DescMethod, rule: Rule): BodyRule {
  if (rule.body === "") return { kind: "none" };
  if (rule.httpMethod === "GET" || rule.httpMethod === "HEAD") {
    refuseRule(method, `a ${rule.httpMethod} binding can't have a body`);
  }
  if (rule.body === "*") return { kind: "message" };
  const field = findField(method.input, rule.body);
  if (field) return { kind: "field", field };
  return refuseRule(method, `body "${rule.body}" is not a field of ${method.input.typeName}`);
}

function createQuery(
  method: DescMethod,
  rest: Rest,
  {
    path,
    body,
    reading,
    isWrite,
    place,
  }: Pick<RequestRule, "path" | "body"> & {
    readonly reading: Reading;
    readonly isWrite: boolean;
    readonly place: Place;
  },
): ParameterReader | undefined {
  const { fields } = method.input;
  const isWhole = body.kind === "message";
  if (isWhole && rest.query.length > 0)
    refuseRule(method, 'query parameters have no effect if the body is "*"');
  const taken = new Set(isWhole ? fields.map(({ name }) => name) : path.map(({ field }) => field));
  if (body.kind === "field") taken.add(body.field.name);
  const named = findNamed(method, rest.query, taken);
  // No parameter sets a field, and all are ignored.
  if ((isWhole || fields.length === 0) && reading.unknownParameters === "ignore") return undefined;
  return createParameterReader({
    method,
    named,
    taken,
    reading,
    isWrite,
    place,
    deciding: rest.requireQuery,
  });
}

function findNamed(
  method: DescMethod,
  parameters: readonly QueryParameter[],
  taken: ReadonlySet<string>,
): NamedTarget[] {
  const names = new Set<string>();
  for (const { name } of parameters) {
    if (name === "") refuseRule(method, "a query parameter without a name");
    if (names.has(name)) refuseRule(method, `query parameter "${name}" is listed twice`);
    names.add(name);
  }
  const groups = Map.groupBy(parameters, (parameter) => parameter.field);
  return [...groups].map(([field, group]) => {
    if (taken.has(field)) refuseRule(method, `query field "${field}" is filled by path or body`);
    return { target: findQueryTarget(method, field, group), parameters: group };
  });
}

function findQueryTarget(
  method: DescMethod,
  field: string,
  group: readonly QueryParameter[],
): Target {
  const type = method.input.typeName;
  const target = findTarget(method.input, field);
  if (!target) return refuseRule(method, `query field "${field}" is not a scalar field of ${type}`);
  const list = group.find((parameter) => parameter.commaSeparated);
  if (list && !target.repeated) {
    const reason = `is comma_separated, but field "${field}" is not repeated`;
    refuseRule(method, `query parameter "${list.name}" ${reason}`);
  }
  return target;
}

function checkRequired(
  method: DescMethod,
  rest: Rest,
  query: ParameterReader | undefined,
  body: BodyRule,
): void {
  for (const name of rest.requireQuery) {
    // With a whole body a parameter can still choose between rpcs.
    if (name !== "" && (body.kind === "message" || query?.knows(name))) continue;
    refuseRule(method, `require_query "${name}" is no query parameter that fills a field`);
  }
}

function findResume(method: DescMethod, rest: Rest): StateField | undefined {
  if (rest.lastEventId === "") return undefined;
  if (rest.reply === Rest_Reply.EVENTS)
    return findStateField(method, "last_event_id", rest.lastEventId);
  return refuseRule(method, "last_event_id needs REPLY_EVENTS");
}

/** The parts of an HTTP request, besides its body, from which the request message is read. */
export interface RequestParts {
  /** Texts of the path's variables, in the template's order. */
  readonly path: readonly string[];
  readonly query: Query;
  /** For conditional headers. */
  readonly call: Pick<Call, "header">;
}

/** Parses the bytes of a body. */
export type ReadBody = (bytes: Uint8Array) => JsonValue;

/**
 * The request message of a request without a body. A field that is the body is present and empty; a
 * google.api.HttpBody has its type.
 */
export function emptyMessage(rule: RequestRule, type = ""): Message {
  const { desc, body } = rule;
  if (rule.raw) return anyBodyMessage(rule, type, new Uint8Array());
  const message = create(desc);
  // A google.protobuf.Value without a kind has no JSON.
  if (body.kind === "field" && body.field.fieldKind === "message" && !holdsNull(body.field))
    createFieldSetter([body.field])(message, create(body.field.message));
  return message;
}

/**
 * The request message of a request with a body.
 *
 * @throws INVALID_ARGUMENT with the problem and its position.
 */
export async function bodyMessage(
  rule: RequestRule,
  body: Uint8Array,
  read: ReadBody,
  rules: JsonRules,
): Promise<Message> {
  if (body.length === 0) return emptyMessage(rule);
  if (rule.body.kind === "none") {
    const message = emptyMessage(rule);
    rule.bodyParameters?.fill(message, bodyQuery(body));
    return message;
  }
  const json = read(body);
  if (json === null && rules.reading.tolerance.nullBody) return create(rule.desc);
  if (rule.body.kind === "message") return messageFromJson(rule.desc, json, rules);
  const { field } = rule.body;
  // A misspelt member would be absent from the mask, and so would not be changed.
  const { reading } = rules;
  const isStrict = rule.mask !== undefined && reading.hasStrictMasks;
  const strict: Reading = { ...reading, unknownMembers: "refuse" };
  const paths = rule.mask && field.message ? maskPaths(field.message, json) : [];
  const message = await fieldFromJson(
    rule.desc,
    field,
    json,
    isStrict ? { ...rules, reading: strict } : rules,
  );
  const { mask } = rule;
  if (mask !== undefined && paths.length > 0)
    createFieldSetter([mask])(message, create(FieldMaskSchema, { paths }));
  return message;
}

/**
 * The members of a body as a query: those of a JSON object, or of a form. Empty for any other body, and
 * without the members that are null.
 *
 * @throws INVALID_ARGUMENT for more members than a query may have, and for an unpaired surrogate.
 */
function bodyQuery(body: Uint8Array): Query {
  const text = Buffer.from(body).toString("utf8");
  const json = parsedOrUndefined(text);
  if (json === undefined) return formQuery(text);
  if (!isJsonObject(json)) return [];
  const pairs = Object.entries(json).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => (one === null ? [] : [{ name, raw: rawText(name, one) }])),
  );
  if (pairs.length > MAX_QUERY_ITEMS)
    throw new BadRequest("QUERY_INVALID", `the body has more than ${MAX_QUERY_ITEMS} members`);
  return pairs;
}

function parsedOrUndefined(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** The parameters of a form; none if its % escapes are broken, because it is then no form. */
function formQuery(text: string): Query {
  try {
    return parseQuery(text);
  } catch {
    return [];
  }
}

/** A value of JSON as it is written in a query. */
function rawText(name: string, value: JsonValue): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  // No UTF-8 has an unpaired surrogate, and so no query either.
  if (!text.isWellFormed())
    throw badParameter(name, "member of the body", "expected valid Unicode text");
  return encodeURIComponent(text);
}

/**
 * Sets fields of a request message from query, path and conditional headers.
 *
 * @throws ConnectError with the invalid part and the expected value.
 */
export function fillMessage(
  rule: RequestRule,
  message: Message,
  { path, query, call }: RequestParts,
  prefix: TagPrefix,
): Message {
  const mask = rule.mask?.localName;
  // A mask in the query precedes that of the body.
  const ofBody: unknown = mask && Reflect.get(message, mask);
  if (mask) Reflect.deleteProperty(message, mask);
  fillFromQuery(rule, message, query);
  if (mask && ofBody && !Reflect.get(message, mask)) Reflect.set(message, mask, ofBody);
  rule.path.forEach((target, index) => {
    const text = path[index] ?? "";
    target.set(message, readText(target, text));
  });
  const ifMatch = rule.ifMatch && call.header("if-match");
  if (rule.ifMatch && ifMatch) {
    const value = readIfMatch(rule.ifMatch, ifMatch, prefix);
    if (value !== undefined) rule.ifMatch.set(message, value);
  }
  const lastEventId = rule.lastEventId && call.header("last-event-id");
  if (rule.lastEventId && lastEventId)
    rule.lastEventId.set(message, readLastEventId(rule.lastEventId, lastEventId, prefix));
  return message;
}

/**
 * Sets fields from the query. A field of the body may be in the query too, with the same value.
 *
 * @throws INVALID_ARGUMENT for a field with two values.
 */
function fillFromQuery(rule: RequestRule, message: Message, query: Query): void {
  if (rule.query === undefined || query.length === 0) return;
  const { desc, bodyParameters } = rule;
  const before = bodyParameters && (toJson(desc, message) as JsonObject);
  if (before === undefined || Object.keys(before).length === 0) {
    rule.query.fill(message, query);
    return;
  }
  const ofQuery = create(desc);
  rule.query.fill(ofQuery, query);
  const given = toJson(desc, ofQuery) as JsonObject;
  const twice = Object.keys(given).find(
    (name) => name in before && JSON.stringify(before[name]) !== JSON.stringify(given[name]),
  );
  if (twice !== undefined)
    throw new BadRequest("QUERY_INVALID", `query and body have different values of ${twice}`);
  Object.assign(message, fromJson(desc, { ...before, ...given }));
}

/**
 * Reports whether a request may be a form: the body is the message, which has scalar fields only.
 */
export function takesForm({ body, desc }: RequestRule): boolean {
  return body.kind === "message" && desc.fields.every(({ fieldKind }) => fieldKind === "scalar");
}

/**
 * The members of an HTML form (application/x-www-form-urlencoded), as JSON. An empty number is
 * absent; the name of a boolean alone is true.
 *
 * @throws INVALID_ARGUMENT for a broken % escape.
 */
export function readForm(bytes: Uint8Array, desc: DescMessage): JsonObject {
  const members = parseQuery(Buffer.from(bytes).toString("utf8")).flatMap((pair) => {
    const value = queryValue(pair);
    const scalar = findField(desc, pair.name)?.scalar;
    if (scalar === ScalarType.STRING || scalar === undefined) return [[pair.name, value] as const];
    if (scalar === ScalarType.BOOL)
      return [[pair.name, pair.isBare ? true : flagOf(value)] as const];
    return value === "" ? [] : [[pair.name, value] as const];
  });
  return Object.fromEntries(members);
}

/** A boolean of a form; other texts stay as they are and are refused as JSON. */
function flagOf(value: string): boolean | string {
  if (value === "true") return true;
  return value === "false" ? false : value;
}

/** Reading of the `update_mask` in a PATCH whose body is a field (AIP-134). */
function findMask(desc: DescMessage, { httpMethod }: Rule, body: BodyRule): DescField | undefined {
  if (httpMethod !== "PATCH" || body.kind !== "field") return undefined;
  const field = findField(desc, "update_mask");
  const isMask =
    field?.fieldKind === "message" && field.message.typeName === "google.protobuf.FieldMask";
  return isMask ? field : undefined;
}

/** The paths of all members in a message's JSON, also in nested messages, in proto names. */
function maskPaths(desc: DescMessage, json: JsonValue, before = ""): string[] {
  if (!isJsonObject(json)) return [];
  return Object.entries(json).flatMap(([name, value]) => {
    const field = findField(desc, name);
    if (field === undefined) return [];
    const path = `${before}${field.name}`;
    const inner =
      field.fieldKind === "message" && !hasCustomJsonRepresentation(field.message)
        ? maskPaths(field.message, value, `${path}.`)
        : [];
    return inner.length > 0 ? inner : [path];
  });
}
