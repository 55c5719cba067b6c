import Mustache from "mustache";
import { escapeHtml, type Message, message } from "../../../messages/message.ts";
import { signedHeaders } from "../send.ts";
import type { Format } from "./format.ts";
import { renderTemplate } from "./render.ts";

/** Maximum length of a template, in UTF-16 code units. */
const MAX_TEMPLATE = 4_000;
/** Sections in sections: the length of a text grows with each level. */
const MAX_DEPTH = 3;
const MAX_HEADERS = 20;
/** Maximum length of the value of a header, in characters. */
const MAX_HEADER = 4_000;
const METHODS = ["POST", "PUT", "PATCH"];
const CONTENT_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}(; ?charset=[\w-]{1,20})?$/;
/** RFC 9110, section 5.6.2. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
/** Headers of the connection, and those that Mooring writes. */
const OWN_HEADERS =
  /^(connection|content-length|content-type|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|webhook-.*)$/i;

/** Custom body: a Mustache template, which has no logic and no code. Requests are signed. */
export const template: Format = {
  isSigned: true,
  reasonIn: [],
  defaultUrl: "",
  problems: ({ template: text, contentType, method, headers }) =>
    [
      ["template", templateProblem(text)] as const,
      [
        "template.content_type",
        CONTENT_TYPE.test(contentType) ? undefined : message("CONTENT_TYPE_INVALID"),
      ] as const,
      [
        "template.method",
        METHODS.includes(method)
          ? undefined
          : message("VALUE_UNKNOWN", { names: METHODS.join(", ") }),
      ] as const,
      ["headers", headersProblem(headers)] as const,
    ].flatMap(([field, problem]) => (problem === undefined ? [] : [[field, problem] as const])),
  request: ({ url, secret, template: text, contentType, method, headers }, notification) => {
    const body = render(text, notification.body, contentType);
    return {
      url,
      method,
      headers: {
        ...headers,
        "content-type": contentType,
        ...signedHeaders(secret, { id: notification.id, time: notification.time, body }),
      },
      body,
    };
  },
};

/** Text of a template for an event: members of `data`, with `type` and `timestamp`. */
function render(text: string, event: string, contentType: string): string {
  const { data, ...rest } = JSON.parse(event) as Readonly<Record<string, unknown>>;
  const view = { ...(data as object), ...rest, json: event };
  return renderTemplate(text, view, escapeFor(contentType));
}

/** Escape of `{{name}}` by the type of the body; `{{{name}}}` is not escaped. */
function escapeFor(contentType: string): (value: unknown) => string {
  if (/json/.test(contentType)) return (value) => JSON.stringify(String(value)).slice(1, -1);
  if (/x-www-form-urlencoded/.test(contentType))
    return (value) => encodeURIComponent(String(value).toWellFormed());
  if (/html|xml/.test(contentType)) return (value) => escapeHtml(String(value));
  return String;
}

function templateProblem(text: string): Message | undefined {
  if (text === "") return message("TEMPLATE_MISSING");
  if (text.length > MAX_TEMPLATE) return message("TEXT_TOO_LONG", { most: MAX_TEMPLATE });
  try {
    return depthOf(new Mustache.Writer().parse(text) as Tokens) > MAX_DEPTH
      ? message("TEMPLATE_TOO_DEEP", { most: MAX_DEPTH })
      : undefined;
  } catch (error) {
    return message("TEMPLATE_INVALID", { reason: error instanceof Error ? error.message : "" });
  }
}

type Tokens = readonly (readonly unknown[])[];

/** Levels of sections in parsed tokens, whose fifth member are those of a section. */
function depthOf(tokens: Tokens): number {
  return tokens.reduce<number>(
    (most, token) =>
      Array.isArray(token[4]) ? Math.max(most, 1 + depthOf(token[4] as Tokens)) : most,
    0,
  );
}

function headersProblem(headers: Readonly<Record<string, string>>): Message | undefined {
  const all = Object.entries(headers);
  if (all.length > MAX_HEADERS) return message("TOO_MANY_HEADERS", { most: MAX_HEADERS });
  const isWrong = all.some(
    ([name, value]) =>
      !HEADER_NAME.test(name) ||
      OWN_HEADERS.test(name) ||
      value.length > MAX_HEADER ||
      !HEADER_VALUE.test(value),
  );
  return isWrong ? message("HEADERS_INVALID") : undefined;
}
