import type { Method } from "../method.ts";
import { type PathTemplate, PathTemplateError, parsePathTemplate } from "./path.ts";
import { completeReading, type Reading } from "./reading.ts";
import { createReplyRule, type ReplyRule } from "./reply-rule.ts";
import { createRequestRule, type RequestRule } from "./request.ts";
import { type BesideRule, type Rule, readRules, refuseRule, rpcName } from "./rule.ts";

/** One REST route to one rpc, checked against the rpc's descriptor. */
export interface Binding {
  /** The rpc's full name. */
  readonly rpc: string;
  readonly method: Method;
  /** The HTTP method in capitals; `*` for any method without its own binding. */
  readonly httpMethod: string;
  readonly template: PathTemplate;
  readonly request: RequestRule;
  readonly reply: ReplyRule;
}

/**
 * The bindings of an rpc, from its `google.api.http` and `mooring.rest.v1.rest` options. Empty for
 * an rpc without REST. Rules in addition to the contract precede them.
 *
 * @param reading options for reading requests. Default: those of google.api.http.
 * @throws RuleError with the rpc and the reason when an option cannot be served.
 */
export function createBindings(
  method: Method,
  beside?: readonly BesideRule[],
  reading: Reading = completeReading(),
): Binding[] {
  const { rules, rest } = readRules(method.desc, beside);
  return rules.map((rule) => {
    const template = parseTemplate(method, rule);
    return {
      rpc: rpcName(method.desc),
      method,
      httpMethod: rule.httpMethod,
      template,
      request: createRequestRule(method.desc, rule, rest, { template, reading }),
      reply: createReplyRule(method.desc, rule, rest),
    };
  });
}

function parseTemplate(method: Method, rule: Rule): PathTemplate {
  try {
    return parsePathTemplate(rule.path);
  } catch (error) {
    if (!(error instanceof PathTemplateError)) throw error;
    return refuseRule(method.desc, `path ${error.message}`);
  }
}
