import type { JsonObject } from "@bufbuild/protobuf";
import type { Method } from "../method.ts";
import { type Served, servedMethods } from "../options.ts";
import { type Binding, createBindings } from "../rest/binding.ts";
import type { PathTemplate } from "../rest/path.ts";
import type { BesideRule } from "../rest/rule.ts";
import type { MemberNames } from "../serialize.ts";
import { headerComponents, parameterComponents } from "./header.ts";
import { createOperation, type OperationContext } from "./operation.ts";
import { failureResponses } from "./response.ts";
import { type Comments, Schemas } from "./schema.ts";

/** Options of a document in addition to the methods and their rules. @internal */
export interface DocumentOptions extends Omit<OperationContext, "schemas"> {
  readonly methods: readonly Method[];
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly comments: Comments;
  /** Names of JSON members, as the gateway has them. Default: proto names. */
  readonly memberNames?: MemberNames;
}

/**
 * The OpenAPI 3.1 document of all REST routes, from the same rules as the gateway's routes.
 *
 * @throws RuleError
 *
 * @internal
 */
export function createDocument(options: DocumentOptions): JsonObject {
  const { methods, rules, title, version, description, comments, isPublic, headers } = options;
  const schemas = new Schemas(comments, options.memberNames);
  const bindings = methods.flatMap((method) => createBindings(method, rules));
  const services = new Set(bindings.map(({ method }) => method.desc.parent));
  const paths: Record<string, JsonObject> = {};
  const ids = new Set<unknown>();
  // OpenAPI cannot express a binding of any HTTP method.
  const named = bindings.filter(({ httpMethod }) => httpMethod !== "*");
  for (const group of Map.groupBy(named, keyOf).values()) {
    const [first, ...others] = group;
    if (first === undefined) continue;
    const path = pathText(first.template);
    const operation = createOperation([first, ...others], { ...options, schemas });
    // Operation ids are unique: a further binding of an rpc gets the HTTP method as suffix.
    if (ids.has(operation["operationId"]))
      operation["operationId"] = `${operation["operationId"]}_${first.httpMethod.toLowerCase()}`;
    ids.add(operation["operationId"]);
    paths[path] = { ...paths[path], [first.httpMethod.toLowerCase()]: operation };
  }
  const closed = methods.some(({ desc }) => !isPublic(desc));
  return {
    openapi: "3.1.0",
    info: { title, version, description },
    // Relative to the URL of the document, also below a path prefix of a proxy.
    servers: [{ url: "./" }],
    ...(closed ? { security: [{ token: [] }, { bearer: [] }] } : {}),
    tags: [...services].map(({ name, typeName }) => ({
      name,
      ...(comments[typeName] === undefined ? {} : { description: comments[typeName] }),
    })),
    paths,
    components: {
      ...(closed ? { securitySchemes: SECURITY } : {}),
      parameters: parameterComponents(headers),
      headers: headerComponents(headers),
      responses: failureResponses(headers),
      schemas: { ...schemas.components, Failure: FAILURE, Status: STATUS },
    },
  };
}

function keyOf({ httpMethod, template }: Binding): string {
  return `${httpMethod} ${pathText(template)}`;
}

/** `/v1/{name=shelves/*}:list` as `/v1/{name}:list`: OpenAPI cannot express the pattern of a variable. */
function pathText({ source }: PathTemplate): string {
  return source.replace(/\{([\w.]+)=[^}]*\}/g, "{$1}");
}

const SECURITY: JsonObject = {
  token: {
    type: "apiKey",
    in: "header",
    name: "Authorization",
    description: "The token without a scheme.",
  },
  bearer: { type: "http", scheme: "bearer", description: "The token after `Bearer `." },
};

const FAILURE: JsonObject = {
  type: "object",
  description: "Error: a message for people, and each wrong value.",
  required: ["code", "message", "data"],
  properties: {
    code: { type: "integer", minimum: 400, maximum: 599 },
    message: { type: "string" },
    data: {
      type: ["object", "null"],
      required: ["violations"],
      properties: {
        violations: {
          type: "array",
          items: {
            type: "object",
            required: ["field", "description"],
            properties: { field: { type: "string" }, description: { type: "string" } },
          },
        },
      },
    },
  },
};

const STATUS: JsonObject = {
  type: "object",
  description: "google.rpc.Status: the canonical code, a sentence for people, and details.",
  properties: {
    code: { type: "integer" },
    message: { type: "string" },
    details: { type: "array", items: { type: "object" } },
  },
};

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
    title,
    version,
    description,
    rules,
    memberNames,
    comments,
    methods: servedMethods(options),
    examples: {},
    isPublic: () => true,
    httpStatus: "envelope",
    headers: { request: [], reply: [], answer: [] },
  });
}
