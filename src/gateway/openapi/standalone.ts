import type { JsonObject } from "@bufbuild/protobuf";
import type { MemberNames } from "../json-text.ts";
import { type Served, servedMethods } from "../options.ts";
import type { BesideRule } from "../rest/rule.ts";
import { createDocument } from "./document.ts";
import type { Comments } from "./schema.ts";

/** Options of a document. */
export interface OpenApiOptions extends Served {
  readonly title: string;
  readonly version: string;
  /** Default: empty. */
  readonly description?: string;
  /** See GatewayOptions. */
  readonly rules?: readonly BesideRule[];
  /** See GatewayOptions. */
  readonly memberNames?: MemberNames;
  /** Default: none, because generated code has no comments. */
  readonly comments?: Comments;
}

/**
 * The OpenAPI 3.1 document of the REST routes that a gateway with the same options serves.
 *
 * @throws RuleError
 */
export function createOpenApi(options: OpenApiOptions): JsonObject {
  const { title, version, description = "", rules, memberNames = "json", comments = {} } = options;
  return createDocument({
    ...{ title, version, description, rules, memberNames, comments },
    methods: servedMethods(options),
    examples: {},
    isPublic: () => true,
    httpStatus: "envelope",
    headers: { request: [], reply: [], answer: [] },
  });
}
