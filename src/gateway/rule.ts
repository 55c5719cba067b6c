import { type DescMethod, getOption, hasOption } from "@bufbuild/protobuf";
import { http } from "../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../gen/google/api/http_pb.js";
import { type Rest, rest } from "../../gen/mooring/rest/v1/rest_pb.js";

/** One `google.api.http` rule, or one of its additional bindings. */
export interface Rule {
  /** The HTTP method in capitals; `*` for any. */
  readonly httpMethod: string;
  /** The path template. */
  readonly path: string;
  /** `*`, a field of the request, or empty. */
  readonly body: string;
  /** A field of the response, or empty for all of it. */
  readonly responseBody: string;
}

/** An rpc whose REST options can't be served: names the rpc and the reason. */
export class RuleError extends Error {
  override readonly name = "RuleError";
}

/** @throws RuleError */
export function refuseRule(desc: DescMethod, reason: string): never {
  throw new RuleError(`${rpcName(desc)}: ${reason}`);
}

/** An rpc's full name, such as `acme.v1.BookService.GetBook`. */
export function rpcName(desc: DescMethod): string {
  return `${desc.parent.typeName}.${desc.name}`;
}

/**
 * The rules of an rpc: its own first, then its additional bindings in their order. Empty for an rpc
 * without REST.
 *
 * @throws RuleError
 */
export function readRules(desc: DescMethod): Rule[] {
  if (!hasOption(desc, http)) {
    if (hasOption(desc, rest)) refuseRule(desc, "has a rest option but no google.api.http option");
    return [];
  }
  const main = getOption(desc, http);
  const additional = main.additionalBindings.map((rule) => {
    if (rule.additionalBindings.length === 0) return readRule(desc, rule);
    return refuseRule(desc, "an additional binding can't have additional bindings");
  });
  return [readRule(desc, main), ...additional];
}

/** The rest option of an rpc; all empty when it has none. */
export function readRest(desc: DescMethod): Rest {
  return getOption(desc, rest);
}

function readRule(desc: DescMethod, rule: HttpRule): Rule {
  const { body, responseBody, pattern } = rule;
  if (pattern.case === undefined) refuseRule(desc, "a google.api.http rule without a path");
  if (pattern.case !== "custom") {
    return { httpMethod: pattern.case.toUpperCase(), path: pattern.value, body, responseBody };
  }
  const { kind, path } = pattern.value;
  if (!/^(?:\*|[A-Z]+)$/.test(kind)) {
    refuseRule(desc, `custom kind "${kind}" is neither an HTTP method in capitals nor *`);
  }
  return { httpMethod: kind, path, body, responseBody };
}
