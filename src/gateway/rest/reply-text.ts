import { create, isFieldSet, type Message } from "@bufbuild/protobuf";
import { memoize } from "../../memoize.ts";
import { createJsonText, escapeHtml, type JsonForm, type Signalled } from "../serialize.ts";
import type { MethodSettings } from "../settings.ts";
import type { ReplyRule } from "./reply-rule.ts";

const textWriter = memoize((form: JsonForm) => createJsonText(escapeHtml, form));

/** The JSON text of a response, or of its response_body field. */
export function replyText(
  { field, method, shape }: ReplyRule,
  message: Message,
  { reply, isImmutable }: MethodSettings,
): string {
  const write = textWriter(reply.json);
  // An absent message is an empty one, if no envelope can contain null.
  const unset = field?.fieldKind === "message" && !isFieldSet(message, field);
  if (shape === "bare" && unset && field.message.typeName !== "google.protobuf.Value")
    return write(field.message, create(field.message));
  return write(method.output, message, { member: field, keepsParts: isImmutable });
}

/** Caches the text of long lists of an immutable reply; see JsonText. */
export function prepareText(
  { field, method }: ReplyRule,
  message: Message,
  { reply }: MethodSettings,
  request: Signalled,
): Promise<void> | undefined {
  return textWriter(reply.json).prepare(method.output, message, request, field);
}
