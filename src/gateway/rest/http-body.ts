import { create, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { createFieldSetter } from "./field.ts";
import type { BodyRule } from "./rule.ts";

/** A google.api.HttpBody: bytes of any type in place of JSON (google/api/httpbody.proto). */
export type HttpBody = Message & { readonly contentType: string; readonly data: Uint8Array };

/** Reports whether a message is google.api.HttpBody. */
export function isHttpBody(desc: DescMessage | undefined): boolean {
  return desc?.typeName === "google.api.HttpBody";
}

interface Taken {
  readonly desc: DescMessage;
  readonly body: BodyRule;
}

/** Reports whether a request's body is a google.api.HttpBody. */
export function isAnyBody({ desc, body }: Taken): boolean {
  if (body.kind === "message") return isHttpBody(desc);
  return (
    body.kind === "field" && body.field.fieldKind === "message" && isHttpBody(body.field.message)
  );
}

/** The request message with a body of any type. */
export function anyBodyMessage({ desc, body }: Taken, type: string, bytes: Uint8Array): Message {
  const field = body.kind === "field" ? body.field : undefined;
  // The body's memory is reused after it has been read.
  const parts: Record<string, unknown> = { contentType: type, data: Uint8Array.from(bytes) };
  const taken = create(field?.message ?? desc, parts);
  if (field === undefined) return taken;
  const message = create(desc);
  createFieldSetter([field])(message, taken);
  return message;
}

/** The HttpBody of a response: the message, or its field. Undefined if that is not set. */
export function httpBodyOf(message: Message, field: DescField | undefined): HttpBody | undefined {
  const body = field === undefined ? message : Reflect.get(message, field.localName);
  return body as HttpBody | undefined;
}

/** Content-Type of a reply; an empty one becomes application/octet-stream. */
export function typeOf(body: HttpBody | undefined): string {
  // A line break in it would begin another header.
  const type = (body?.contentType ?? "").replace(/[^\t\x20-\x7e]/g, "");
  return type === "" ? "application/octet-stream" : type;
}
