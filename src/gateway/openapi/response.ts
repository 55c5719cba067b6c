import { STATUS_CODES } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { ENVELOPE_CODE } from "../failure.ts";
import type { Binding } from "../rest/binding.ts";
import type { OwnSchema } from "./components.ts";
import type { ResponseContext } from "./context.ts";
import { answerHeaders, failureHeaders } from "./header.ts";

/** Statuses of requests that never become a call, in any mode. */
const REFUSALS = [400, 408, 413, 414, 415, 429, 431];

/** The responses of the bindings that share an operation. */
export function responses(
  bindings: readonly [Binding, ...Binding[]],
  context: ResponseContext,
): JsonObject {
  const [{ reply }] = bindings;
  const enveloped = reply.shape === "envelope" || reply.shape === "envelope-null";
  const real = !enveloped || context.httpStatus === "code";
  const failures = new Set([...REFUSALS, ...(real ? Object.values(ENVELOPE_CODE) : [])]);
  const schemas = bindings.map((binding) => successSchema(binding, context));
  const inBody = real ? schemas : [...schemas, context.components.own(FAILURE)];
  const state = bindings.some((binding) => binding.reply.state !== undefined);
  const cached = state && bindings.every(({ httpMethod }) => httpMethod === "GET");
  const bare = reply.shape === "bare";
  const headers = answerHeaders(bindings[0], { hasState: state, mayFail: !real }, context.headers);
  const content = successContent(bindings[0], inBody);
  const isPartial = bindings.some((binding) => binding.reply.notice !== undefined);
  const refer = (status: number | "default"): JsonObject => ({
    $ref: `#/components/responses/${failureName(status, bare)}`,
  });
  return {
    [reply.status]: {
      description: real
        ? "The call has succeeded."
        : `The call has ended. The member \`code\` is its outcome: 200 for success${isPartial ? ", 207 if the message names what was left out" : ""}.`,
      headers,
      ...(reply.status === 204 ? {} : { content }),
    },
    ...(real && isPartial
      ? { 207: { description: "The message names what the call left out.", headers, content } }
      : {}),
    ...(cached && reply.shape !== "events"
      ? { 304: { description: "The client's copy is current.", headers } }
      : {}),
    ...Object.fromEntries(
      [...failures].sort((one, other) => one - other).map((status) => [status, refer(status)]),
    ),
    ...(bare ? { default: refer("default") } : {}),
  };
}

function successContent({ method, reply }: Binding, schemas: JsonObject[]): JsonObject {
  const { shape } = reply;
  // Bytes of the media type that the rpc has chosen.
  if (reply.raw) return { "*/*": { schema: {} } };
  if (shape === "text") return { "text/plain": { schema: { type: "string" } } };
  const [first = {}] = schemas;
  const schema = schemas.length === 1 ? first : { anyOf: schemas };
  if (shape === "events") return { "text/event-stream": { schema: events(schema) } };
  if (method.kind === "server_streaming")
    return {
      "application/x-ndjson": { schema: lines(schema) },
      "application/json": { schema: { type: "array", items: schema } },
      "text/event-stream": { schema: events(schema) },
    };
  return { "application/json": { schema } };
}

/** Schema of a text of JSON values: OpenAPI 3.1 has none for a stream of them. */
export function lines(message: JsonObject): JsonObject {
  return {
    type: "string",
    description: "Lines, each of which is JSON of this schema.",
    contentMediaType: "application/json",
    contentSchema: message,
  };
}

function events(message: JsonObject): JsonObject {
  return {
    type: "string",
    description: "Events whose `data` is JSON of this schema; an event `error` ends a stream.",
    contentMediaType: "application/json",
    contentSchema: message,
  };
}

function failureName(status: number | "default", bare: boolean): string {
  if (status === "default") return "Status";
  return `${bare ? "Status" : "Failure"}${status}`;
}

/** The replies that operations refer to, by name. */
export function failureResponses({
  components,
  headers: notes,
}: ResponseContext): Record<string, JsonObject> {
  const statuses = [...new Set([...REFUSALS, ...Object.values(ENVELOPE_CODE)])];
  const all: [number | "default", boolean][] = [
    ...statuses.flatMap((status): [number, boolean][] => [
      [status, false],
      [status, true],
    ]),
    ["default", true],
  ];
  return Object.fromEntries(
    all.map(([status, bare]) => [
      failureName(status, bare),
      {
        description: (status !== "default" && STATUS_CODES[status]) || "Any other error.",
        headers: failureHeaders(status, notes),
        content: { "application/json": { schema: components.own(bare ? STATUS : FAILURE) } },
      },
    ]),
  );
}

/** Code and message of a success, and of one that may have left something out. */
const WHOLE = { code: { const: 200 }, message: { const: "success" } };
const PARTIAL = { code: { enum: [200, 207] }, message: { type: "string" } };

function successSchema({ method, reply }: Binding, { schemasOf }: ResponseContext): JsonObject {
  const schemas = schemasOf(method);
  const { shape, field } = reply;
  if (reply.raw) return {};
  const value = field
    ? schemas.field(field, "reply")
    : schemas.message(method.desc.output, "reply");
  const data =
    shape === "envelope-null"
      ? { type: "null" }
      : field?.fieldKind === "message"
        ? { anyOf: [value, { type: "null" }] }
        : value;
  if (shape !== "envelope" && shape !== "envelope-null") return data;
  return {
    type: "object",
    required: ["code", "message", "data"],
    properties: { ...(reply.notice === undefined ? WHOLE : PARTIAL), data },
  };
}

const FAILURE: OwnSchema = {
  names: ["Failure", "FailureEnvelope"],
  schema: {
    type: "object",
    description: "Error: a message for people, and each wrong value.",
    required: ["code", "message", "data"],
    properties: {
      code: { type: "integer", minimum: 400, maximum: 599 },
      message: { type: "string" },
      data: {
        type: ["object", "null"],
        required: ["violations"],
        properties: {
          violations: {
            type: "array",
            items: {
              type: "object",
              required: ["field", "description"],
              properties: { field: { type: "string" }, description: { type: "string" } },
            },
          },
        },
      },
    },
  },
};

const STATUS: OwnSchema = {
  names: ["Status", "ErrorStatus"],
  schema: {
    type: "object",
    description: "google.rpc.Status: the canonical code, a sentence for people, and details.",
    required: ["code"],
    properties: {
      code: { type: "integer", format: "int32" },
      message: { type: "string" },
      details: {
        type: "array",
        items: {
          type: "object",
          properties: { "@type": { type: "string" } },
          additionalProperties: true,
        },
      },
    },
  },
};
