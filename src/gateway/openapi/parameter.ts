import type { DescField, DescMessage, JsonObject } from "@bufbuild/protobuf";
import { hasCustomJsonRepresentation } from "@bufbuild/protobuf/wkt";
import type { Binding } from "../rest/binding.ts";
import { type FieldPath, fieldPathText, findFieldPath } from "../rest/field.ts";
import { findTarget } from "../rest/query.ts";
import { readRules } from "../rest/rule.ts";
import { createTextReader } from "../rest/value.ts";
import { behaviorOf } from "./behavior.ts";
import type { OperationContext } from "./context.ts";
import { type PathParameter, pathParameters } from "./path.ts";
import { type Schemas, scalarSchema } from "./schema.ts";

/** Parameters of one binding, in the order path, query, header. */
export function createParameters(
  binding: Binding,
  names: readonly string[],
  context: OperationContext,
): JsonObject[] {
  return [...inPath(binding, names, context), ...inQuery(binding, context), ...inHeader(binding)];
}

/** @param names of the parameters in the document's path, which other templates share. */
function inPath(
  binding: Binding,
  names: readonly string[],
  context: OperationContext,
): JsonObject[] {
  const schemas = context.schemasOf(binding.method);
  const example = context.examples[binding.rpc]?.path ?? {};
  return pathParameters(binding.template).map((parameter, index) => {
    const { field = "", pattern } = parameter;
    const path = findFieldPath(binding.method.desc.input, field);
    const leaf = path?.at(-1);
    const description = pathDescription(parameter, leaf && schemas.comment(leaf));
    return {
      name: names[index] ?? parameter.name,
      in: "path",
      required: true,
      ...(description === "" ? {} : { description }),
      ...(leaf?.deprecated ? { deprecated: true } : {}),
      schema:
        leaf === undefined || pattern !== undefined
          ? { type: "string" }
          : textSchema(leaf, schemas),
      ...(pattern !== undefined || example[field] === undefined ? {} : { example: example[field] }),
    };
  });
}

function pathDescription(
  { field, pattern, multiple }: PathParameter,
  comment: string | undefined,
): string {
  const notes = [
    ...(comment === undefined ? [] : [comment]),
    ...(pattern === undefined ? [] : [`Part of \`${field}\`, which is \`${pattern}\`.`]),
    ...(multiple ? ["May have several segments: its slashes must not be escaped."] : []),
  ];
  return notes.join("\n\n");
}

function inQuery(binding: Binding, context: OperationContext): JsonObject[] {
  const { method, request } = binding;
  if (request.body.kind === "message") return [];
  const { rest } = readRules(method.desc, context.rules);
  const taken = new Set([
    ...request.path.map(({ field }) => field),
    ...(request.body.kind === "field" ? [request.body.field.name] : []),
    ...rest.query.map(({ field }) => field),
  ]);
  const schemas = context.schemasOf(method);
  const example = context.examples[binding.rpc]?.query ?? {};
  const named = rest.query.map(({ name, field, commaSeparated }) => ({
    name,
    in: "query",
    ...described(findFieldPath(method.desc.input, field), schemas),
    ...(commaSeparated ? { style: "form", explode: false } : {}),
    ...(example[name] === undefined
      ? {}
      : { example: commaSeparated ? example[name].split(",") : example[name] }),
  }));
  const direct = queryFields(method.desc.input, { taken, maps: context.mapParameters === true });
  return [...named, ...direct.map((path) => queryParameter(path, example, schemas))];
}

function queryParameter(
  path: FieldPath,
  example: Readonly<Record<string, string>>,
  schemas: Schemas,
): JsonObject {
  const name = path.map((field) => schemas.name(field)).join(".");
  const isMap = path.at(-1)?.fieldKind === "map";
  return {
    name,
    in: "query",
    ...(path.every((field) => behaviorOf(field).required) ? { required: true } : {}),
    ...described(path, schemas),
    // `labels[size]=large`
    ...(isMap ? { style: "deepObject", explode: true } : {}),
    ...(example[name] === undefined ? {} : { example: example[name] }),
  };
}

/** Schema and description of a field in text form. */
function described(path: FieldPath | undefined, schemas: Schemas): JsonObject {
  const field = path?.at(-1);
  if (path === undefined || field === undefined) return { schema: { type: "string" } };
  const comment = schemas.comment(field);
  return {
    ...(comment === undefined ? {} : { description: comment }),
    ...(path.some(({ deprecated }) => deprecated) ? { deprecated: true } : {}),
    schema: textSchema(field, schemas),
  };
}

function textSchema(field: DescField, schemas: Schemas): JsonObject {
  const one =
    field.message || field.enum
      ? schemas.field(
          { ...field, fieldKind: field.message ? "message" : "enum" } as DescField,
          "request",
        )
      : scalarSchema(field.scalar, "text");
  if (field.fieldKind === "map") return { type: "object", additionalProperties: one };
  return field.fieldKind === "list" ? { type: "array", items: one } : one;
}

interface QueryScope {
  /** Fields that path, body or named parameters fill. */
  readonly taken: ReadonlySet<string>;
  /** Whether parameters fill maps. */
  readonly maps: boolean;
}

/**
 * The fields that query parameters fill, those of nested messages too. A message inside of itself is
 * left out: it has parameters without end.
 */
function queryFields(
  desc: DescMessage,
  scope: QueryScope,
  above: readonly DescField[] = [],
): FieldPath[] {
  return desc.fields.flatMap((field): FieldPath[] => {
    const [first = field, ...rest] = [...above, field];
    const path: FieldPath = [first, ...rest];
    const text = fieldPathText(path);
    if (scope.taken.has(text)) return [];
    if (findTarget(first.parent, text) !== undefined) return [path];
    if (field.fieldKind === "map")
      return scope.maps && createTextReader(field) !== undefined ? [path] : [];
    if (field.fieldKind !== "message" || hasCustomJsonRepresentation(field.message)) return [];
    const isInside = path.some(({ parent }) => parent === field.message);
    return isInside ? [] : queryFields(field.message, scope, path);
  });
}

function inHeader({ request, reply, httpMethod }: Binding): JsonObject[] {
  const header = (name: string, description: string): JsonObject => ({
    name,
    in: "header",
    description,
    schema: { type: "string" },
  });
  const conditional = reply.state !== undefined && httpMethod === "GET" && reply.shape !== "events";
  return [
    ...(conditional
      ? [header("If-None-Match", "ETag of an earlier reply: 304 if it is still current.")]
      : []),
    ...(request.ifMatch
      ? [
          header(
            "If-Match",
            "ETag of an earlier read: the call is refused if the state has changed since.",
          ),
        ]
      : []),
    ...(request.lastEventId
      ? [header("Last-Event-ID", "Id of the last received event: the stream resumes after it.")]
      : []),
  ];
}
