import { type DescField, type DescMethod, ScalarType } from "@bufbuild/protobuf";
import { type Rest, Rest_Reply } from "../../../gen/mooring/rest/v1/rest_pb.js";
import { isRead } from "../method.ts";
import { findField } from "./field.ts";
import { isHttpBody } from "./http-body.ts";
import { type Rule, refuseRule } from "./rule.ts";
import { integerRange } from "./value.ts";

/** The shape of a successful reply's body. */
export type ReplyShape = "bare" | "envelope" | "envelope-null" | "text" | "events";

/** Reply rule of a binding. */
export interface ReplyRule {
  readonly method: DescMethod;
  readonly shape: ReplyShape;
  /** The response field that is the reply; undefined: the whole response. */
  readonly field: DescField | undefined;
  /** The reply is a google.api.HttpBody, whose bytes are sent unchanged. */
  readonly raw: boolean;
  /** The response field with the state of the reply. */
  readonly state: DescField | undefined;
  /** The response field with the language of the reply's texts. */
  readonly language: DescField | undefined;
  /** The response field that names what the call left out. */
  readonly notice: DescField | undefined;
  /** HTTP status of a successful reply. */
  readonly status: number;
  /** The encoded reply is cached as long as its message: the rpc only reads. */
  readonly kept: boolean;
}

/** @throws RuleError for options that do not match the response message. */
export function createReplyRule(method: DescMethod, rule: Rule, rest: Rest): ReplyRule {
  const shape = SHAPES.get(rest.reply);
  if (shape === undefined) return refuseRule(method, `reply ${rest.reply} is unknown`);
  checkStreaming(method, shape);
  const field = rule.responseBody === "" ? undefined : findBody(method, rule.responseBody);
  if (shape === "envelope-null" && field) {
    refuseRule(method, "REPLY_ENVELOPE_NULL and response_body exclude each other");
  }
  if (shape === "text" && !isPlain(field, ScalarType.STRING)) {
    refuseRule(method, "REPLY_TEXT needs a string field as response_body");
  }
  const state = rest.etag === "" ? undefined : findState(method, rest.etag);
  const language = rest.language === "" ? undefined : findText(method, "language", rest.language);
  const notice = rest.notice === "" ? undefined : findText(method, "notice", rest.notice);
  if (notice !== undefined && shape !== "envelope" && shape !== "envelope-null")
    refuseRule(method, "notice needs REPLY_ENVELOPE or REPLY_ENVELOPE_NULL");
  const status = readStatus(method, rest, shape);
  const raw = isHttpBody(field === undefined ? method.output : field.message);
  return { method, shape, field, raw, state, language, notice, status, kept: isRead(method) };
}

function readStatus(method: DescMethod, { status }: Rest, shape: ReplyShape): number {
  if (status === 0 || status === 200) return 200;
  if (![201, 202, 204].includes(status))
    refuseRule(method, `status ${status}: use 201, 202 or 204`);
  if (method.methodKind === "server_streaming" || (shape !== "bare" && shape !== "text"))
    refuseRule(method, `status ${status} needs a whole reply without an envelope`);
  return status;
}

const SHAPES: ReadonlyMap<Rest_Reply, ReplyShape> = new Map([
  [Rest_Reply.UNSPECIFIED, "bare"],
  [Rest_Reply.ENVELOPE, "envelope"],
  [Rest_Reply.ENVELOPE_NULL, "envelope-null"],
  [Rest_Reply.TEXT, "text"],
  [Rest_Reply.EVENTS, "events"],
]);

function checkStreaming(method: DescMethod, shape: ReplyShape): void {
  const { methodKind } = method;
  if (methodKind === "bidi_streaming")
    refuseRule(method, "a bidirectional stream cannot be served over REST");
  if (methodKind === "server_streaming" && shape !== "events" && shape !== "bare") {
    refuseRule(method, "a server stream needs REPLY_EVENTS or no form at all");
  }
  if (methodKind !== "server_streaming" && shape === "events") {
    refuseRule(method, "REPLY_EVENTS needs a server stream");
  }
}

function findBody(method: DescMethod, name: string): DescField {
  const field = findField(method.output, name);
  if (field) return field;
  return refuseRule(method, `response_body "${name}" is not a field of ${method.output.typeName}`);
}

function findState(method: DescMethod, name: string): DescField {
  const field = findField(method.output, name);
  if (!field)
    return refuseRule(method, `etag "${name}" is not a field of ${method.output.typeName}`);
  const integer = field.fieldKind === "scalar" && integerRange(field.scalar);
  if (!(integer && !field.oneof) && !isPlain(field, ScalarType.STRING)) {
    refuseRule(method, `etag "${name}" must be a singular integer or string`);
  }
  return field;
}

function findText(method: DescMethod, option: string, name: string): DescField {
  const field = findField(method.output, name);
  if (field && isPlain(field, ScalarType.STRING)) return field;
  return refuseRule(
    method,
    `${option} "${name}" is not a string field of ${method.output.typeName}`,
  );
}

function isPlain(field: DescField | undefined, scalar: ScalarType): boolean {
  return field?.fieldKind === "scalar" && field.scalar === scalar && !field.oneof;
}
