import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import type { Binding } from "../rest/binding.ts";
import { takesForm } from "../rest/request.ts";
import { behaviorOf } from "./behavior.ts";
import type { Direction } from "./components.ts";
import type { OperationContext } from "./context.ts";
import { commonParameters } from "./header.ts";
import { createParameters } from "./parameter.ts";
import { lines, responses } from "./response.ts";

/** Place of an operation in the document. */
export interface OperationPlace {
  readonly id: string;
  readonly tag: string;
  /** Names of the path's parameters. */
  readonly names: readonly string[];
}

/**
 * An operation object (OpenAPI 3.1, section 4.8.10) of the bindings that share an HTTP method and a
 * path and choose by their query.
 */
export function createOperation(
  bindings: readonly [Binding, ...Binding[]],
  { id, tag, names }: OperationPlace,
  context: OperationContext,
): JsonObject {
  const descs = [...new Set(bindings.map(({ method }) => method.desc))];
  const [{ method, httpMethod }] = bindings;
  const notes = [
    ...(httpMethod === "*" ? ["Any HTTP method is accepted."] : []),
    ...descs.map((desc) => context.comments[`${desc.parent.typeName}.${desc.name}`]),
  ].filter((note) => note !== undefined);
  const [body] = bindings.flatMap((binding) => requestBody(binding, context) ?? []);
  const parameters = uniqueBy(
    bindings.flatMap((binding) => createParameters(binding, names, context)),
    (one) => `${one["in"]} ${one["name"]}`,
  );
  return {
    operationId: id,
    tags: [tag],
    summary: descs.map(({ name }) => words(name)).join(", or: "),
    ...(notes.length === 0 ? {} : { description: notes.join("\n\n") }),
    ...(descs.every(isDeprecated) ? { deprecated: true } : {}),
    ...(context.isPublic(method.desc) ? { security: [] } : {}),
    parameters: [
      // If several rpcs share the path, each parameter of the query is optional.
      ...(descs.length === 1 ? parameters : parameters.map(optional)),
      ...commonParameters(context.headers),
    ],
    ...(body === undefined ? {} : { requestBody: body }),
    responses: responses(bindings, context),
  };
}

function isDeprecated({ deprecated, parent }: DescMethod): boolean {
  return deprecated || parent.deprecated;
}

function optional(parameter: JsonObject): JsonObject {
  if (parameter["in"] !== "query") return parameter;
  const { required: _, ...others } = parameter;
  return others;
}

/** `GetSetting` → `Get setting`. */
function words(name: string): string {
  const [first = "", ...rest] = name.split(/(?=[A-Z][a-z])/);
  return [first, ...rest.map((word) => word.toLowerCase())].join(" ");
}

function uniqueBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}

function requestBody(binding: Binding, context: OperationContext): JsonObject | undefined {
  const { request, method, httpMethod } = binding;
  const schemas = context.schemasOf(method);
  const { body } = request;
  if (body.kind === "none") return undefined;
  // Bytes of any media type.
  if (request.raw) return { required: true, content: { "*/*": { schema: {} } } };
  const direction: Direction = httpMethod === "PATCH" ? "patch" : "request";
  // Path variables inside of the body, relative to it.
  const before = body.kind === "message" ? "" : `${body.field.name}.`;
  const omitted = request.path
    .filter(({ field }) => field.startsWith(before))
    .map(({ field }) => field.slice(before.length))
    .sort();
  const schema =
    body.kind === "message"
      ? schemas.message(method.desc.input, direction, omitted)
      : schemas.field(body.field, direction, omitted);
  if (method.kind === "client_streaming") {
    const content = { schema: lines(schema) };
    return {
      required: true,
      content: { "application/x-ndjson": content, "application/jsonl": content },
    };
  }
  const isRequired =
    body.kind === "message"
      ? method.desc.input.fields.some(
          (field) => behaviorOf(field).required && !omitted.includes(field.name),
        )
      : behaviorOf(body.field).required;
  const example = context.examples[binding.rpc]?.body;
  const content = { schema, ...(example === undefined ? {} : { example }) };
  return {
    ...(isRequired ? { required: true } : {}),
    content: {
      "application/json": content,
      ...(takesForm(request) ? { "application/x-www-form-urlencoded": { schema } } : {}),
    },
  };
}
