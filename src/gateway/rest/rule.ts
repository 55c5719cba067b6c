import {
  create,
  type DescField,
  type DescMessage,
  type DescMethod,
  fromJson,
  type JsonValue,
  type MessageInitShape,
  type MessageShape,
  mergeFromBinary,
} from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { http } from "../../../gen/google/api/annotations_pb.js";
import { type HttpRule, HttpRuleSchema, HttpSchema } from "../../../gen/google/api/http_pb.js";
import { type Rest, RestSchema, rest } from "../../../gen/mooring/rest/v1/rest_pb.js";

/** One `google.api.http` rule, or one of its additional bindings. @internal */
export interface Rule {
  /** The HTTP method in capitals; `*` for any. */
  readonly httpMethod: string;
  /** The path template. */
  readonly path: string;
  /** `*`, a field of the request, or empty. */
  readonly body: string;
  /** A field of the response, or empty for the whole. */
  readonly responseBody: string;
}

/** Part of the request message that is set from the body. @internal */
export type BodyRule =
  | { readonly kind: "none" }
  | { readonly kind: "message" }
  | { readonly kind: "field"; readonly field: DescField };

/** The REST options of an rpc are invalid; the message has the rpc and the reason. */
export class RuleError extends Error {
  override readonly name = "RuleError";
}

/** @throws RuleError @internal */
export function refuseRule(desc: DescMethod, reason: string): never {
  throw new RuleError(`${rpcName(desc)}: ${reason}`);
}

/** An rpc's full name, such as `acme.v1.BookService.GetBook`. @internal */
export function rpcName(desc: DescMethod): string {
  return `${desc.parent.typeName}.${desc.name}`;
}

/** Rule in addition to the contract, for an rpc whose file cannot be changed. */
export interface BesideRule {
  /** The rpc's full name, such as `acme.v1.BookService.GetBook`. */
  readonly selector: string;
  /** The rule, with its additional bindings. */
  readonly http: MessageInitShape<typeof HttpRuleSchema>;
  /** Options of mooring.rest.v1.rest. Default: none. */
  readonly rest?: MessageInitShape<typeof RestSchema> | undefined;
}

/**
 * The rules of a service configuration (google.api.Service, its member `http`) as a JSON value.
 *
 * @throws Error for an invalid rule.
 */
export function serviceConfigRules(config: JsonValue): BesideRule[] {
  const part = (config as { readonly http?: JsonValue } | null)?.http ?? {};
  const { rules } = fromJson(HttpSchema, part, { ignoreUnknownFields: true });
  return rules.map((rule) => ({ selector: rule.selector, http: rule }));
}

/** REST rules of an rpc. @internal */
export interface RestRules {
  /** The rpc's own first, followed by its additional bindings. Empty: no REST. */
  readonly rules: readonly Rule[];
  /** All empty by default. */
  readonly rest: Rest;
}

/**
 * The rules of an rpc: those in addition to the contract, otherwise its options.
 *
 * @throws RuleError
 *
 * @internal
 */
export function readRules(desc: DescMethod, beside: readonly BesideRule[] = []): RestRules {
  const own = beside.findLast(({ selector }) => selector === rpcName(desc));
  if (own !== undefined) {
    const main = create(HttpRuleSchema, own.http);
    return { rules: expand(desc, main), rest: create(RestSchema, own.rest) };
  }
  const main = readOption(desc, http.number, HttpRuleSchema);
  const options = readOption(desc, rest.number, RestSchema);
  if (main !== undefined) return { rules: expand(desc, main), rest: options ?? NOTHING_SAID };
  if (options !== undefined) refuseRule(desc, "has a rest option but no google.api.http option");
  return { rules: [], rest: NOTHING_SAID };
}

const NOTHING_SAID: Rest = create(RestSchema);

/**
 * A message-typed option of an rpc; undefined if it is not set. getOption of the library compiles a
 * container for each read, which makes a start with 13,000 rules half a second longer.
 */
function readOption<Desc extends DescMessage>(
  { proto }: DescMethod,
  number: number,
  schema: Desc,
): MessageShape<Desc> | undefined {
  const fields = proto.options?.$unknown?.filter(({ no }) => no === number) ?? [];
  if (fields.length === 0) return undefined;
  // Several occurrences of a message field are merged (protobuf encoding, "Last One Wins").
  return fields.reduce(
    (option, { data }) => mergeFromBinary(schema, option, new BinaryReader(data).bytes()),
    create(schema),
  );
}

function expand(desc: DescMethod, main: HttpRule): Rule[] {
  const additional = main.additionalBindings.map((rule) => {
    if (rule.additionalBindings.length === 0) return readRule(desc, rule);
    return refuseRule(desc, "an additional binding can't have additional bindings");
  });
  return [readRule(desc, main), ...additional];
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
