import type { DescField, DescMethod, JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Binding } from "../rest/binding.ts";
import { findFieldPath } from "../rest/field.ts";
import { findTarget } from "../rest/query.ts";
import { takesForm } from "../rest/request.ts";
import { type BesideRule, readRules } from "../rest/rule.ts";
import { commonParameters } from "./header.ts";
import { type ResponseContext, responses } from "./response.ts";
import { type Comments, type Schemas, scalarSchema } from "./schema.ts";

/** A call of an rpc that shows how it is used. */
export interface Example {
  /** Query parameters. */
  readonly query?: Readonly<Record<string, string>>;
  /** Path variables. */
  readonly path?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
}

/** Context of operations. */
export interface OperationContext extends ResponseContext {
  readonly comments: Comments;
  /** By the rpc's full name. */
  readonly examples: Readonly<Record<string, Example>>;
  readonly rules?: readonly BesideRule[] | undefined;
  /** Reports whether an rpc may be called without a token. */
  readonly isPublic: (method: DescMethod) => boolean;
}

/**
 * An operation object (OpenAPI 3.1, section 4.8.10) of the bindings that share an HTTP method and a
 * path and choose by their query.
 */
export function createOperation(
  bindings: readonly [Binding, ...Binding[]],
  context: OperationContext,
): JsonObject {
  const descs = bindings.map(({ method }) => method.desc);
  const [{ method }] = bindings;
  const comments = descs.map((desc) => context.comments[`${desc.parent.typeName}.${desc.name}`]);
  const description = comments.filter((comment) => comment !== undefined).join("\n\n");
  const bodies = bindings.flatMap((binding) => requestBody(binding, context) ?? []);
  return {
    operationId: descs.map((desc) => `${desc.parent.name}_${desc.name}`).join("_or_"),
    tags: [method.desc.parent.name],
    summary: descs.map(({ name }) => words(name)).join(", or: "),
    ...(description === "" ? {} : { description }),
    ...(context.isPublic(method.desc) ? { security: [] } : {}),
    parameters: [
      ...uniqueBy(
        bindings.flatMap((binding) => parameters(binding, context)),
        (one) => `${one["in"]} ${one["name"]}`,
      ),
      ...commonParameters(context.headers),
    ],
    ...(bodies[0] === undefined ? {} : { requestBody: bodies[0] }),
    responses: responses(bindings, context),
  };
}

/** `GetSetting` → `Get setting`. */
function words(name: string): string {
  const [first = "", ...rest] = name.split(/(?=[A-Z][a-z])/);
  return [first, ...rest.map((word) => word.toLowerCase())].join(" ");
}

function uniqueBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}

function parameters(binding: Binding, context: OperationContext): JsonObject[] {
  return [
    ...pathParameters(binding, context),
    ...queryParameters(binding, context),
    ...headerParameters(binding),
  ];
}

function exampleOf({ rpc }: Binding, { examples }: OperationContext): Example {
  return examples[rpc] ?? {};
}

function pathParameters(binding: Binding, context: OperationContext): JsonObject[] {
  const example = exampleOf(binding, context).path ?? {};
  return binding.template.variables.map(({ field }) => ({
    name: field,
    in: "path",
    required: true,
    ...textParameter(binding, field, context),
    ...(example[field] === undefined ? {} : { example: example[field] }),
  }));
}

/** Schema and description of a field in text form. */
function textParameter(
  { method }: Binding,
  path: string,
  { schemas }: OperationContext,
): JsonObject {
  const field = findFieldPath(method.desc.input, path)?.at(-1);
  if (field === undefined) return { schema: { type: "string" } };
  const comment = schemas.comment(field);
  return {
    ...(comment === undefined ? {} : { description: comment }),
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
  return field.fieldKind === "list" ? { type: "array", items: one } : one;
}

function queryParameters(binding: Binding, context: OperationContext): JsonObject[] {
  const { method, request } = binding;
  const { input } = method.desc;
  if (request.body.kind === "message") return [];
  const { rest } = readRules(method.desc, context.rules);
  const taken = new Set([
    ...request.path.map(({ field }) => field),
    ...(request.body.kind === "field" ? [request.body.field.name] : []),
    ...rest.query.map(({ field }) => field),
  ]);
  const direct = input.fields
    .filter(({ name }) => !taken.has(name) && findTarget(input, name) !== undefined)
    .map((field) => ({
      name: context.schemas.name(field),
      field: field.name,
      commaSeparated: false,
    }));
  const example = exampleOf(binding, context).query ?? {};
  // If several rpcs share the path, each parameter is optional.
  return [...rest.query, ...direct].map(({ name, field, commaSeparated }) => ({
    name,
    in: "query",
    ...textParameter(binding, field, context),
    ...(commaSeparated ? { style: "form", explode: false } : {}),
    ...(example[name] === undefined
      ? {}
      : { example: commaSeparated ? example[name].split(",") : example[name] }),
  }));
}

function headerParameters({ request, reply, httpMethod }: Binding): JsonObject[] {
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

function requestBody(binding: Binding, context: OperationContext): JsonObject | undefined {
  const { request, method } = binding;
  const { schemas } = context;
  const { body } = request;
  if (body.kind === "none") return undefined;
  const schema =
    body.kind === "message"
      ? schemas.message(method.desc.input, "request")
      : schemas.field(body.field, "request");
  const example = exampleOf(binding, context).body;
  const content = { schema, ...(example === undefined ? {} : { example }) };
  return {
    content: {
      "application/json": content,
      ...(takesForm(request) ? { "application/x-www-form-urlencoded": { schema } } : {}),
    },
  };
}
