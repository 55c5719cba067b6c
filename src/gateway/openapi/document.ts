import type { DescMethod, DescService, JsonObject } from "@bufbuild/protobuf";
import type { Method } from "../method.ts";
import { type GatewayOptions, type Served, servedMethods } from "../options.ts";
import { type Binding, createBindings } from "../rest/binding.ts";
import type { MemberNames } from "../serialize.ts";
import { Components } from "./components.ts";
import type { OperationContext } from "./context.ts";
import { headerComponents, parameterComponents } from "./header.ts";
import { Names, shortNames } from "./name.ts";
import { createOperation } from "./operation.ts";
import { documentPath, hierarchyOf, pathParameters } from "./path.ts";
import { failureResponses } from "./response.ts";
import { type Comments, type JsonForm, Schemas } from "./schema.ts";

/** Options of a document in addition to the methods and their rules. @internal */
export interface DocumentOptions extends Omit<OperationContext, "components" | "schemasOf"> {
  readonly methods: readonly Method[];
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly comments: Comments;
  /** Form of JSON, as the gateway has it. Default: proto names, all members, names of enum values. */
  readonly form?: Partial<JsonForm> | undefined;
  /** Further members of `info`. */
  readonly info?: JsonObject | undefined;
  /** Default: the folder of the document's URL. */
  readonly servers?: readonly (string | JsonObject)[] | undefined;
  /** Schemes of which calls of methods that are not public need one. Default: none. */
  readonly securitySchemes?: Readonly<Record<string, JsonObject>> | undefined;
}

const DEFAULT_FORM: JsonForm = {
  memberNames: "proto",
  alwaysEmitImplicit: true,
  enumAsInteger: false,
};

/** Relative to the URL of the document, also below a path prefix of a proxy. */
const HERE: readonly string[] = ["."];

/**
 * The OpenAPI 3.1 document of all REST routes, from the same rules as the gateway's routes.
 *
 * @throws RuleError
 *
 * @internal
 */
export function createDocument(options: DocumentOptions): JsonObject {
  const { methods, rules, title, version, description, comments, isPublic, headers } = options;
  const { info, servers = HERE, securitySchemes = {} } = options;
  const components = new Components();
  const form = { ...DEFAULT_FORM, ...options.form };
  const context = { ...options, components, schemasOf: createSchemas(components, comments, form) };
  const bindings = methods.flatMap((method) => createBindings(method, rules));
  const services = [...new Set(bindings.map(({ method }) => method.desc.parent))];
  const tags = shortNames(
    services.map((service) => ({ typeName: service.typeName, short: service.name })),
  );
  const { schemas, part } = components.finish({
    paths: createPaths(bindings, tags, context),
    responses: failureResponses(context),
  });
  const schemes = methods.some(({ desc }) => !isPublic(desc)) ? Object.keys(securitySchemes) : [];
  return withoutUnused({
    openapi: "3.1.0",
    info: { title, version, description, ...info },
    servers: servers.map((one) => (typeof one === "string" ? { url: one } : one)),
    ...(schemes.length > 0 ? { security: schemes.map((name) => ({ [name]: [] })) } : {}),
    tags: services.map((service) => tagOf(service, tags, comments)),
    paths: part.paths,
    components: {
      ...(schemes.length > 0 ? { securitySchemes } : {}),
      parameters: parameterComponents(headers),
      headers: headerComponents(headers),
      responses: part.responses,
      schemas,
    },
  });
}

/** Finds the schemas of a method, whose own jsonOptions replace the form of the document. */
function createSchemas(components: Components, comments: Comments, common: JsonForm) {
  const known = new Map<string, Schemas>();
  return ({ options }: Method): Schemas => {
    const { jsonOptions } = options ?? {};
    const form = jsonOptions === undefined ? common : formOf(jsonOptions, common.memberNames);
    const name = formName(form, common);
    const schemas = known.get(name) ?? new Schemas(components, comments, form, name);
    known.set(name, schemas);
    return schemas;
  };
}

type JsonOptions = NonNullable<OpenApiOptions["jsonOptions"]>;

/** The form of JSON that these options of protobuf-es choose. */
function formOf(
  { useProtoFieldName, alwaysEmitImplicit = true, enumAsInteger = false }: JsonOptions,
  memberNames: MemberNames,
): JsonForm {
  const isProto = useProtoFieldName ?? memberNames === "proto";
  return { memberNames: isProto ? "proto" : "json", alwaysEmitImplicit, enumAsInteger };
}

/** Words for the differences of a form from another one, for the names of schemas. */
function formName(form: JsonForm, common: JsonForm): string {
  const { memberNames, alwaysEmitImplicit, enumAsInteger } = form;
  return [
    ...(memberNames === common.memberNames ? [] : [WORDS[memberNames]]),
    ...(alwaysEmitImplicit === common.alwaysEmitImplicit
      ? []
      : [alwaysEmitImplicit ? "Full" : "Sparse"]),
    ...(enumAsInteger === common.enumAsInteger ? [] : [enumAsInteger ? "Numbers" : "Names"]),
  ].join("");
}

const WORDS = { proto: "ProtoNames", json: "JsonNames" } as const;

function tagOf(
  { typeName, name }: DescService,
  tags: ReadonlyMap<string, string>,
  comments: Comments,
): JsonObject {
  return { name: tags.get(typeName) ?? name, description: comments[typeName] ?? typeName };
}

/** Methods that a path item of OpenAPI 3.1 has (section 4.8.9). */
const METHODS: ReadonlySet<string> = new Set([
  "get",
  "put",
  "post",
  "delete",
  "options",
  "head",
  "patch",
  "trace",
]);

function createPaths(
  bindings: readonly Binding[],
  tags: ReadonlyMap<string, string>,
  context: OperationContext,
): Record<string, JsonObject> {
  const paths: Record<string, JsonObject> = {};
  const ids = new Names();
  const groups = Map.groupBy(bindings, ({ template }) => hierarchyOf(template));
  const items = [...groups].map(([hierarchy, [first]]) => {
    const names = first ? pathParameters(first.template).map(({ name }) => name) : [];
    return [hierarchy, { names, text: first ? documentPath(first.template, names) : "" }] as const;
  });
  const pathOf = new Map(items);
  const sharing = Map.groupBy(
    bindings,
    ({ httpMethod, template }) => `${httpMethod} ${hierarchyOf(template)}`,
  );
  for (const group of sharing.values()) {
    const [first, ...others] = group;
    if (first === undefined) continue;
    const hierarchy = hierarchyOf(first.template);
    const { names = [], text = hierarchy } = pathOf.get(hierarchy) ?? {};
    const item = paths[text] ?? {};
    paths[text] = item;
    const descs = [...new Set(group.map(({ method }) => method.desc))];
    const operation = createOperation(
      [first, ...others],
      {
        id: ids.take(descs.map((desc) => operationId(desc, tags)).join("_or_")),
        tag: tags.get(first.method.desc.parent.typeName) ?? "",
        names,
      },
      context,
    );
    const method = methodFor(first, groups.get(hierarchy) ?? []);
    if (METHODS.has(method)) item[method] = operation;
    else item[OTHER_METHODS] = { ...(item[OTHER_METHODS] as JsonObject), [method]: operation };
  }
  return paths;
}

/** Member of a path item for methods that OpenAPI 3.1 lacks; 3.2 has it without the prefix. */
const OTHER_METHODS = "x-additionalOperations";

/**
 * The name of an operation in its path item. A binding of any method has no place of its own: it is
 * shown as a method that no other binding of the path has.
 */
function methodFor({ httpMethod, request }: Binding, sharing: readonly Binding[]): string {
  if (httpMethod !== "*") {
    const name = httpMethod.toLowerCase();
    return METHODS.has(name) ? name : httpMethod;
  }
  const taken = new Set(sharing.map((one) => one.httpMethod.toLowerCase()));
  const usual = request.body.kind === "none" ? ["get", "post"] : ["post"];
  return [...usual, "put", "patch", "delete"].find((name) => !taken.has(name)) ?? "*";
}

function operationId({ name, parent }: DescMethod, tags: ReadonlyMap<string, string>): string {
  return `${(tags.get(parent.typeName) ?? parent.name).replaceAll(".", "_")}_${name}`;
}

/** The document without components that nothing refers to. */
function withoutUnused(document: JsonObject & { readonly components: JsonObject }): JsonObject {
  const { components, ...others } = document;
  const used = new Set<string>();
  const follow = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [name, member] of Object.entries(value)) {
      if (name !== "$ref" || typeof member !== "string") follow(member);
      else if (!used.has(member)) {
        used.add(member);
        const [, , section = "", component = ""] = member.split("/");
        follow((components[section] as JsonObject | undefined)?.[component]);
      }
    }
  };
  follow(others);
  const sections = Object.entries(components).map(([section, all]) => [
    section,
    section === "securitySchemes"
      ? all
      : Object.fromEntries(
          Object.entries(all as JsonObject).filter(([name]) =>
            used.has(`#/components/${section}/${name}`),
          ),
        ),
  ]);
  return { ...others, components: Object.fromEntries(sections) };
}

/** Options of a document. Those of the gateway that it shares must be the same. */
export interface OpenApiOptions
  extends Served,
    Pick<GatewayOptions, "rules" | "memberNames" | "mapParameters" | "jsonOptions"> {
  /** Title of the API. */
  readonly title: string;
  /** Version of the API, such as that of its package. */
  readonly version: string;
  /** Text for readers, in CommonMark. Default: empty. */
  readonly description?: string | undefined;
  /** Further members of `info`, such as `license` and `contact`. Default: none. */
  readonly info?: JsonObject | undefined;
  /**
   * URLs of the gateway, with its prefix, or server objects of OpenAPI. A relative URL is relative to
   * that of the document. Default: `.`.
   */
  readonly servers?: readonly (string | JsonObject)[] | undefined;
  /**
   * Security schemes of OpenAPI by name, such as `{ bearer: { type: "http", scheme: "bearer" } }`:
   * each call needs one of them, except those of methods that are public. Default: none.
   */
  readonly securitySchemes?: Readonly<Record<string, JsonObject>> | undefined;
  /** Reports whether a method needs no security scheme. Default: none is public. */
  readonly isPublic?: ((method: DescMethod) => boolean) | undefined;
  /**
   * Comments of the contract by full name. Default: none, because generated code has none; the
   * command takes them from the proto files.
   */
  readonly comments?: Comments | undefined;
}

/**
 * The OpenAPI 3.1 document of the REST routes that a gateway with the same options serves.
 *
 * @throws RuleError
 */
export function createOpenApi(options: OpenApiOptions): JsonObject {
  const {
    description = "",
    memberNames = "json",
    jsonOptions = {},
    comments = {},
    isPublic,
  } = options;
  const { title, version, rules, mapParameters, info, servers, securitySchemes = {} } = options;
  const isOpen = Object.keys(securitySchemes).length === 0;
  return createDocument({
    title,
    version,
    description,
    rules,
    form: formOf(jsonOptions, memberNames),
    mapParameters,
    comments,
    info,
    servers,
    securitySchemes,
    methods: servedMethods(options),
    examples: {},
    isPublic: (method) => isOpen || (isPublic?.(method) ?? false),
    httpStatus: "envelope",
    headers: { request: [], reply: [], answer: [] },
  });
}
