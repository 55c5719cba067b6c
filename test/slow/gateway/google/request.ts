import {
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonObject,
  type JsonValue,
  type Message,
  type Registry,
} from "@bufbuild/protobuf";
import type { HttpRule } from "../../../../gen/google/api/http_pb.js";
import { isText, sampleField, sampleMessage } from "./sample.ts";

/** The request of a rule, and the message that reaches the rpc. */
export interface RuleRequest {
  readonly method: string;
  readonly target: string;
  readonly type: string | undefined;
  readonly body: string | undefined;
  readonly message: Message;
}

/** Maximum number of query parameters: Node accepts a request head of 16 KiB. */
const MAX_PARAMETERS = 40;
const ANY_TYPE = "text/x-any";
const ANY_BYTES = "any bytes";

/** A request with a value for each variable of the path, each query parameter and each member of the body. */
export function requestOf(desc: DescMethod, rule: HttpRule, registry: Registry): RuleRequest {
  const { input } = desc;
  const field = input.fields.find(({ name }) => name === rule.body);
  const carrier = rule.body === "*" ? input : field?.message;
  const sampled = rule.body === "*" ? sampleMessage(input) : field && sampleField(field);
  const isBytes = carrier?.typeName === "google.api.HttpBody" && field?.fieldKind !== "list";
  const carried = isBytes ? { contentType: ANY_TYPE, data: btoa(ANY_BYTES) } : sampled;
  const expected: JsonObject = field ? { [field.jsonName]: carried ?? null } : {};
  if (rule.body === "*") Object.assign(expected, structuredClone(carried));
  const json = carried === undefined ? undefined : JSON.stringify(carried);
  const body = isBytes ? ANY_BYTES : json;
  const { path, variables } = expandTemplate(rule);
  const taken = new Set([...variables.keys(), rule.body]);
  const query = rule.body === "*" ? [] : queryOf(input, taken);
  for (const { fields, value } of query) place(expected, fields, value);
  for (const [name, text] of variables) {
    const fields = fieldsOf(input, name);
    place(expected, fields, fields.at(-1)?.enum ? Number(text) : text);
  }
  const search = query.flatMap(({ fields, value }) => {
    const name = fields.map((one) => one.name).join(".");
    return [value].flat().map((one) => `${name}=${encodeURIComponent(String(one))}`);
  });
  return {
    method: rule.pattern.case === "custom" ? rule.pattern.value.kind : httpMethod(rule),
    target: [path, ...(search.length > 0 ? [search.join("&")] : [])].join("?"),
    type: isBytes ? ANY_TYPE : json && "application/json",
    body,
    message: fromJson(input, expected, { registry }),
  };
}

function httpMethod({ pattern }: HttpRule): string {
  return (pattern.case ?? "").toUpperCase();
}

/** A number for each wildcard of a template, each a different one. */
function expandTemplate({ pattern }: HttpRule): { path: string; variables: Map<string, string> } {
  const template = pattern.case === "custom" ? pattern.value.path : (pattern.value ?? "");
  const variables = new Map<string, string>();
  let count = 0;
  const fill = (text: string): string =>
    text.replace(/\*\*?/g, (wildcard) => (wildcard === "*" ? `${++count}` : `${++count}/x/y/z`));
  const path = template.replace(/\{([^=}]+)(?:=([^}]*))?\}/g, (_, name: string, inner = "*") => {
    const text = fill(inner);
    variables.set(name, text);
    return text;
  });
  return { path: fill(path), variables };
}

interface Parameter {
  readonly fields: readonly DescField[];
  readonly value: JsonValue;
}

/** Parameters for the fields of a message, including those of nested messages. */
function queryOf(desc: DescMessage, taken: ReadonlySet<string>): Parameter[] {
  const parameters: Parameter[] = [];
  const add = (fields: readonly DescField[]): void => {
    const field = fields.at(-1);
    if (field === undefined || taken.has(fields.map(({ name }) => name).join("."))) return;
    if (field.oneof && field.oneof.fields[0] !== field) return;
    if (isText(field)) parameters.push({ fields, value: sampleField(field) ?? null });
    else if (field.fieldKind === "message" && fields.length < 3)
      for (const inner of field.message.fields) add([...fields, inner]);
  };
  for (const field of desc.fields) add([field]);
  return parameters.slice(0, MAX_PARAMETERS);
}

function fieldsOf(desc: DescMessage, path: string): DescField[] {
  const [first = "", ...rest] = path.split(".");
  const field = desc.fields.find(({ name }) => name === first);
  if (field === undefined) throw new Error(`${desc.typeName} has no field ${first}`);
  return rest.length === 0
    ? [field]
    : [field, ...fieldsOf(field.message as DescMessage, rest.join("."))];
}

/** Sets a member, and removes the other members of its oneof. */
function place(json: JsonObject, [field, ...rest]: readonly DescField[], value: JsonValue): void {
  if (field === undefined) return;
  for (const { jsonName } of field.oneof?.fields ?? [])
    if (jsonName !== field.jsonName) delete json[jsonName];
  const inner = (json[field.jsonName] ?? {}) as JsonObject;
  json[field.jsonName] = rest.length === 0 ? value : inner;
  place(inner, rest, value);
}
