import { create, fromJson, type JsonValue, type Message } from "@bufbuild/protobuf";
import type { HeaderReader } from "../rpc/method.ts";
import { readIfMatch, readLastEventId, type TagPrefix } from "./entity-tag.ts";
import { badRequest, quote } from "./fault.ts";
import { findFieldProblem, findMessageProblem } from "./json-problem.ts";
import { readJson } from "./json-text.ts";
import { readText } from "./parameter.ts";
import type { Query } from "./query-string.ts";
import type { BodyRule, RequestRule } from "./request-rule.ts";

/** The parts of an HTTP request that make the request message. */
export interface RequestParts {
  /** Texts of the path's variables, in the template's order. */
  readonly path: readonly string[];
  readonly query: Query;
  /** Empty when there is no body or the binding takes none. */
  readonly body: Uint8Array;
  readonly header: HeaderReader;
}

/**
 * Makes the request message: body first, then query, path and conditional headers, which fill
 * fields of their own.
 *
 * @throws ConnectError that says which part is wrong and what was expected.
 */
export function createRequestMessage(
  rule: RequestRule,
  parts: RequestParts,
  prefix: TagPrefix,
): Message {
  const message =
    parts.body.length === 0 ? create(rule.desc) : readBodyMessage(rule, readJson(parts.body));
  rule.query?.fill(message, parts.query);
  rule.path.forEach((target, index) => {
    const text = parts.path[index] ?? "";
    target.set(message, readText(target, text, `path: ${quote(target.field)}`));
  });
  fillState(rule, message, parts.header, prefix);
  return message;
}

function readBodyMessage(rule: RequestRule, json: JsonValue): Message {
  if (json === null || rule.body.kind === "none") return create(rule.desc);
  const problem = findProblem(rule, rule.body, json);
  if (problem !== undefined) throw badRequest(`body: ${problem}`);
  const whole = rule.body.kind === "field" ? { [rule.body.field.jsonName]: json } : json;
  try {
    return fromJson(rule.desc, whole, { ignoreUnknownFields: true });
  } catch {
    // Everything known was checked; whatever is left must not show the library's words.
    throw badRequest("body: does not fit the request");
  }
}

function findProblem(rule: RequestRule, body: BodyRule, json: JsonValue): string | undefined {
  if (body.kind === "field") return findFieldProblem(body.field, json, "");
  return findMessageProblem(rule.desc, json, "");
}

function fillState(
  rule: RequestRule,
  message: Message,
  header: HeaderReader,
  prefix: TagPrefix,
): void {
  const ifMatch = rule.ifMatch && header.get("if-match");
  if (rule.ifMatch && ifMatch) {
    const value = readIfMatch(rule.ifMatch, ifMatch, prefix);
    if (value !== undefined) rule.ifMatch.set(message, value);
  }
  const lastEventId = rule.lastEventId && header.get("last-event-id");
  if (rule.lastEventId && lastEventId) {
    rule.lastEventId.set(message, readLastEventId(rule.lastEventId, lastEventId, prefix));
  }
}
