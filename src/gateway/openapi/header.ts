import type { JsonObject } from "@bufbuild/protobuf";
import type { Binding } from "../rest/binding.ts";

/** A header that calls of every operation may have, or their replies. */
export interface HeaderNote {
  readonly name: string;
  readonly description: string;
  readonly schema: JsonObject;
  readonly example?: string;
}

/** Headers besides those of the gateway itself, which parts of the application read and write. */
export interface HeaderNotes {
  readonly request: readonly HeaderNote[];
  /** Headers of every reply, including refusals. */
  readonly reply: readonly HeaderNote[];
  /** Headers of replies of the rpc only. */
  readonly answer: readonly HeaderNote[];
}

const TEXT: JsonObject = { type: "string" };

/** Headers written by the gateway. */
const OWN: readonly HeaderNote[] = [
  { name: "Cache-Control", description: "Caching rules of the reply.", schema: TEXT },
  { name: "Vary", description: "Request headers that the reply depends on.", schema: TEXT },
  {
    name: "Content-Encoding",
    description: "Compression of the body, if the client accepts it (`Accept-Encoding`).",
    schema: { type: "string", enum: ["br", "gzip"] },
  },
  {
    name: "Content-Language",
    description: "The language of the reply's texts.",
    schema: TEXT,
  },
  { name: "ETag", description: "Entity tag of the returned state.", schema: TEXT },
  {
    name: "Retry-After",
    description: "Seconds to wait before a retry.",
    schema: { type: "integer", minimum: 0 },
  },
  {
    name: "WWW-Authenticate",
    description: "Authentication scheme, if the token is missing or wrong.",
    schema: TEXT,
  },
  {
    name: "Error-Reason",
    description: "Reason of an error: `google.rpc.ErrorInfo.reason`.",
    schema: TEXT,
  },
  {
    name: "Error-Metadata",
    description:
      "Parameters of the reason as a JSON object: `google.rpc.ErrorInfo.metadata`. Left out above 2,048 characters.",
    schema: TEXT,
  },
  {
    name: "Accept-Encoding",
    description: "Accepted encoding of a body, if the request had another one.",
    schema: TEXT,
  },
  {
    name: "X-Accel-Buffering",
    description: "`no`: a proxy must forward each event at once.",
    schema: TEXT,
  },
];

const ERROR_INFO = ["Error-Reason", "Error-Metadata"];

/** Headers of replies, for references. */
export function headerComponents({ reply, answer }: HeaderNotes): Record<string, JsonObject> {
  return Object.fromEntries(
    [...OWN, ...reply, ...answer].map(({ name, description, schema }) => [
      name,
      { description, schema },
    ]),
  );
}

/** Headers of requests, for references. */
export function parameterComponents({ request }: HeaderNotes): Record<string, JsonObject> {
  return Object.fromEntries(request.map((note) => [note.name, { in: "header", ...note }]));
}

/** Parameters of every operation. */
export function commonParameters({ request }: HeaderNotes): JsonObject[] {
  return request.map(({ name }) => ({ $ref: `#/components/parameters/${name}` }));
}

/** Headers of a reply of the rpc, or of an envelope, which may be a failure. */
export function answerHeaders(
  { reply }: Binding,
  { hasState, mayFail }: { readonly hasState: boolean; readonly mayFail: boolean },
  notes: HeaderNotes,
): JsonObject {
  const isStream = reply.shape === "events";
  return refer([
    ...(hasState && !isStream ? ["ETag"] : []),
    "Cache-Control",
    ...(isStream ? ["X-Accel-Buffering"] : ["Vary", "Content-Encoding"]),
    ...(reply.language === undefined || isStream ? [] : ["Content-Language"]),
    ...(mayFail ? ["Retry-After", "WWW-Authenticate", ...ERROR_INFO] : []),
    ...[...notes.reply, ...notes.answer].map(({ name }) => name),
  ]);
}

/** Headers of a refusal. */
export function failureHeaders(status: number | "default", notes: HeaderNotes): JsonObject {
  return refer([
    "Cache-Control",
    ...(status === 401 ? ["WWW-Authenticate"] : []),
    ...(status === 415 ? ["Accept-Encoding"] : []),
    ...(status === 429 || status === 503 ? ["Retry-After"] : []),
    ...ERROR_INFO,
    ...notes.reply.map(({ name }) => name),
  ]);
}

function refer(names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
