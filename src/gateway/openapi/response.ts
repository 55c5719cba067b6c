import { STATUS_CODES } from "node:http";
import type { JsonObject } from "@bufbuild/protobuf";
import { ENVELOPE_CODE } from "../failure.ts";
import type { Binding } from "../rest/binding.ts";
import { answerHeaders, failureHeaders, type HeaderNotes } from "./header.ts";
import type { Schemas } from "./schema.ts";

/** Context of responses. */
export interface ResponseContext {
  readonly schemas: Schemas;
  /** HTTP status of replies in the envelope; see GatewayOptions. */
  readonly httpStatus: "envelope" | "code";
  /** Headers that parts of the application read and write. */
  readonly headers: HeaderNotes;
}

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
  const inBody = real ? schemas : [...schemas, FAILURE];
  const state = bindings.some((binding) => binding.reply.state !== undefined);
  const cached = state && bindings.every(({ httpMethod }) => httpMethod === "GET");
  const bare = reply.shape === "bare";
  const headers = answerHeaders(bindings[0], { hasState: state, mayFail: !real }, context.headers);
  const content = successContent(bindings[0], inBody);
  const isPartial = bindings.some((binding) => binding.reply.notice !== undefined);
  return {
    200: {
      description: real
        ? "The call has succeeded."
        : `The call has ended. The member \`code\` is its outcome: 200 for success${isPartial ? ", 207 if the message names what was left out" : ""}.`,
      headers,
      content,
    },
    ...(real && isPartial
      ? { 207: { description: "The message names what the call left out.", headers, content } }
      : {}),
    ...(cached && reply.shape !== "events"
      ? { 304: { description: "The client's copy is current.", headers } }
      : {}),
    ...Object.fromEntries(
      [...failures]
        .sort((one, other) => one - other)
        .map((status) => [status, { $ref: `#/components/responses/${failureName(status, bare)}` }]),
    ),
  };
}

function successContent({ method, reply }: Binding, schemas: JsonObject[]): JsonObject {
  const { shape } = reply;
  if (reply.raw) return { "*/*": { schema: {} } };
  if (shape === "text") return { "text/plain; charset=utf-8": { schema: { type: "string" } } };
  if (shape === "events")
    return {
      "text/event-stream": {
        schema: {
          type: "string",
          description:
            "Events whose `data` is JSON of this schema; an event `error` ends a stream.",
          contentMediaType: "application/json",
          contentSchema: schemas[0] ?? {},
        },
      },
    };
  const [first] = schemas;
  const schema = schemas.length === 1 && first ? first : { anyOf: schemas };
  if (method.kind === "server_streaming")
    return {
      "application/x-ndjson": { schema },
      "application/json; charset=utf-8": { schema: { type: "array", items: schema } },
      "text/event-stream": { schema: { type: "string" } },
    };
  return { "application/json; charset=utf-8": { schema } };
}

const FAILURE = { $ref: "#/components/schemas/Failure" };

function failureName(status: number, bare: boolean): string {
  return `${bare ? "Status" : "Failure"}${status}`;
}

/** The replies that operations refer to, by name. */
export function failureResponses(notes: HeaderNotes): Record<string, JsonObject> {
  const statuses = new Set([...REFUSALS, ...Object.values(ENVELOPE_CODE)]);
  return Object.fromEntries(
    [false, true].flatMap((bare) =>
      [...statuses].map((status) => [
        failureName(status, bare),
        failureResponse(status, bare, failureHeaders(status, notes)),
      ]),
    ),
  );
}

function failureResponse(status: number, bare: boolean, headers: JsonObject): JsonObject {
  return {
    description: STATUS_CODES[status] ?? "Failure",
    headers,
    content: {
      "application/json; charset=utf-8": {
        schema: bare ? { $ref: "#/components/schemas/Status" } : FAILURE,
      },
    },
  };
}

/** Code and message of a success, and of one that may have left something out. */
const WHOLE = { code: { const: 200 }, message: { const: "success" } };
const PARTIAL = { code: { enum: [200, 207] }, message: { type: "string" } };

function successSchema({ method, reply }: Binding, { schemas }: ResponseContext): JsonObject {
  const { shape, field } = reply;
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
