import type { DescService, JsonObject } from "@bufbuild/protobuf";
import type { ConnectRouterOptions, Transport } from "@connectrpc/connect";
import { Validator } from "@seriousme/openapi-schema-validator";
import { beforeAll, describe, expect, test } from "vitest";
import { readComments } from "../../../src/gateway/openapi/command.ts";
import { createOpenApi, type OpenApiOptions } from "../../../src/gateway/openapi/document.ts";
import { type Compiled, compileContract } from "./contract.ts";

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: JsonObject }> };
  readonly responses: Record<string, { readonly content: Record<string, unknown> }>;
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, JsonObject> } & JsonObject;
}

const CATALOG = "catalog.v1.LibraryService";
const ARCHIVE = "archive.v1.LibraryService";

let contract: Compiled;
let document: Document;

beforeAll(() => {
  contract = compileContract();
  document = documentOf([CATALOG, ARCHIVE]);
});

/** The transport of a document, which makes no calls. */
const target = {} as Transport;

function documentOf(names: readonly string[], options: Partial<OpenApiOptions> = {}): Document {
  const services = names.map((name) => contract.registry.getService(name) as DescService);
  return createOpenApi({
    title: "Library",
    version: "1",
    services,
    target,
    comments: readComments(contract.set.file),
    ...options,
  }) as unknown as Document;
}

function operation(method: string, path: string, from = document): Operation {
  const found = from.paths[path]?.[method];
  if (found === undefined) throw new Error(`${method} ${path} is not in the document`);
  return found;
}

function operations(from = document): Operation[] {
  return Object.values(from.paths).flatMap((item) =>
    Object.entries(item).flatMap(([method, one]) =>
      method.startsWith("x-") ? (Object.values(one) as unknown as Operation[]) : [one],
    ),
  );
}

function schema(name: string, from = document): JsonObject {
  const found = from.components.schemas[name];
  if (found === undefined) throw new Error(`${name}: ${Object.keys(from.components.schemas)}`);
  return found;
}

/** The letters of a name: code generators do not keep the rest. */
const letters = (name: string): string => name.replace(/[^a-z0-9]/gi, "").toLowerCase();

function expectDistinct(names: readonly string[]): void {
  expect(names.map(letters)).toEqual([...new Set(names.map(letters))]);
}

test("the document is valid OpenAPI 3.1 without unused components", async () => {
  const { errors } = await new Validator().validate(structuredClone({ ...document }));
  expect(errors ?? []).toEqual([]);
  const text = JSON.stringify(document);
  for (const section of ["schemas", "responses", "headers"])
    for (const name of Object.keys(document.components[section] as object))
      expect(text).toContain(`"#/components/${section}/${name}"`);
});

describe("names", () => {
  test("of schemas differ where packages have messages of one name", () => {
    expect(operation("get", "/v1/old/{id}").responses["200"]?.content).toEqual({
      "application/json": { schema: { $ref: "#/components/schemas/archive.v1.Book" } },
    });
    expect(schema("archive.v1.Book")["properties"]).toHaveProperty("weight");
    expect(schema("catalog.v1.Book")["properties"]).toHaveProperty("title");
    // One package alone has the short name.
    expect(schema("Book", documentOf([ARCHIVE]))["properties"]).toHaveProperty("weight");
  });

  test("of a contract's messages precede those of the gateway's own schemas", () => {
    expect(schema("Status")["properties"]).toEqual({ ready: { type: "boolean" } });
    expect(schema("ErrorStatus")["properties"]).toHaveProperty("details");
    expect(JSON.stringify(document.components["responses"])).toContain("schemas/ErrorStatus");
  });

  test("of a message's form in requests are not those of another message", () => {
    expect(operation("post", "/v1/swaps").requestBody?.content).toMatchObject({
      "application/json": { schema: { $ref: "#/components/schemas/SwapAsInput" } },
    });
    expect(schema("SwapAsInput")["properties"]).toHaveProperty("none");
    expect(schema("Swap")["properties"]).toMatchObject({
      input: { $ref: "#/components/schemas/SwapInput" },
    });
    expect(schema("SwapInput")).toMatchObject({
      properties: { left: { type: "string" } },
      required: ["left"],
    });
  });

  test("of schemas, operations and tags are unique, also in the words of code generators", () => {
    expectDistinct(Object.keys(document.components.schemas));
    expectDistinct(operations().map(({ operationId }) => operationId));
    expect(operations().length).toBe(23);
    const tags = new Set(operations().flatMap((one) => one.tags));
    expect([...tags].sort()).toEqual([ARCHIVE, CATALOG]);
    expect(operation("get", "/v1/status", documentOf([CATALOG])).tags).toEqual(["LibraryService"]);
  });

  test("of operations have a number for each further binding of an rpc", () => {
    const ids = operations(documentOf([CATALOG])).map(({ operationId }) => operationId);
    expect(ids.filter((id) => id.includes("GetBook"))).toEqual([
      "LibraryService_GetBook",
      "LibraryService_GetBook_2",
      "LibraryService_GetBook_3",
    ]);
  });

  test("do not depend on the order of the services", () => {
    const other = documentOf([ARCHIVE, CATALOG]);
    expect(Object.keys(other.components.schemas)).toEqual(Object.keys(document.components.schemas));
  });
});

describe("paths", () => {
  test("have a parameter for each segment of a resource name", () => {
    expect(Object.keys(document.paths)).toEqual(
      expect.arrayContaining([
        "/v1/shelves/{shelf}",
        "/v1/themes/{theme}",
        "/v1/shelves/{shelf}/books/{book}:move",
        "/v1/books/{book}",
      ]),
    );
    const { parameters } = operation("get", "/v1/shelves/{shelf}/books/{book}");
    expect(parameters).toMatchObject([
      { name: "shelf", in: "path", required: true, schema: { type: "string" } },
      { name: "book", in: "path", required: true, schema: { type: "string" } },
    ]);
  });

  test("that differ in the names of their parameters only are one path", () => {
    expect(Object.keys(document.paths["/v1/shelves/{shelf}/books/{book}"] ?? {})).toEqual([
      "get",
      "patch",
      "delete",
    ]);
    expect(operation("put", "/archive/books/{id}").parameters).toMatchObject([{ name: "id" }]);
    expect(Object.keys(document.paths).filter((path) => path.startsWith("/archive"))).toEqual([
      "/archive/books/{id}",
    ]);
  });

  test("say which parameter takes slashes", () => {
    const { parameters } = operation("get", "/v1/pages/{path}");
    expect(parameters).toMatchObject([
      { name: "path", description: expect.stringContaining("slashes must not be escaped") },
    ]);
  });

  test("have a place for every HTTP method", () => {
    expect(document.paths["/v1/status"]).toHaveProperty("x-additionalOperations.PURGE");
    expect(operation("get", "/v1/any")).toMatchObject({
      description: expect.stringContaining("Any HTTP method"),
    });
  });
});

describe("parameters of the query", () => {
  const namesOf = ({ parameters }: Operation): string[] =>
    parameters.filter((one) => one.in === "query").map(({ name }) => name);

  test("fill fields of nested messages, also of a message inside of itself", () => {
    expect(namesOf(operation("get", "/v1/shelves/{shelf}/books"))).toEqual([
      "pageSize",
      "filter.author.name",
      "filter.color",
      "filter.since",
      "filter.old",
      "tags",
      "view",
    ]);
  });

  test("have the names and the maps that the gateway takes with the same options", () => {
    const options = { mapParameters: true, memberNames: "proto" } as const;
    const own = operation("get", "/v1/shelves/{shelf}/books", documentOf([CATALOG], options));
    expect(namesOf(own)).toEqual(expect.arrayContaining(["page_size", "labels"]));
    expect(own.parameters.find(({ name }) => name === "labels")).toMatchObject({
      style: "deepObject",
      explode: true,
      schema: { type: "object", additionalProperties: { type: "string" } },
    });
  });

  test("are required and deprecated as their fields are", () => {
    const { parameters } = operation("get", "/v1/shelves/{shelf}/books");
    const marks = parameters.filter((one) => "required" in one || "deprecated" in one);
    expect(marks).toMatchObject([
      { name: "shelf", required: true },
      { name: "filter.old", deprecated: true },
      { name: "view", required: true },
    ]);
  });
});

describe("fields", () => {
  test("have the behavior that the contract gives them", () => {
    expect(schema("catalog.v1.BookInput")).toMatchObject({
      required: ["title", "isbn"],
      properties: {
        bought: { readOnly: true },
        secret: { writeOnly: true },
        isbn: { description: "Immutable." },
        oldTitle: { deprecated: true },
      },
    });
    expect(schema("catalog.v1.Book")["required"]).not.toContain("secret");
  });

  test("of a PATCH are optional, and those of its path left out", () => {
    const { requestBody } = operation("patch", "/v1/shelves/{shelf}/books/{book}");
    expect(requestBody?.content["application/json"]?.schema).toEqual({
      $ref: "#/components/schemas/catalog.v1.BookPatchBody",
    });
    const patch = schema("catalog.v1.BookPatchBody");
    expect(patch).not.toHaveProperty("required");
    expect(Object.keys(patch["properties"] as object)).not.toContain("name");
    expect(patch["properties"]).toHaveProperty("title");
  });

  test("of the path are not in a whole body", () => {
    const { requestBody } = operation("post", "/v1/shelves/{shelf}/books/{book}:move");
    expect(requestBody).toMatchObject({ required: true });
    expect(schema("MoveBookRequestBody")).toMatchObject({ required: ["shelf"] });
    expect(Object.keys(schema("MoveBookRequestBody")["properties"] as object)).toEqual([
      "shelf",
      "force",
    ]);
  });

  test("that are a free object or null have a schema of it", () => {
    expect(schema("catalog.v1.Book")["properties"]).toMatchObject({
      extra: { type: "object", additionalProperties: true },
    });
    expect(schema("Swap")["properties"]).toMatchObject({ none: { type: "null" } });
  });

  test("of an enum refer to its schema, which replies, requests and queries share", () => {
    const color = { $ref: "#/components/schemas/Color" };
    expect(schema("catalog.v1.Book")["properties"]).toMatchObject({ color });
    expect(schema("catalog.v1.BookInput")["properties"]).toMatchObject({ color });
    const inQuery = operations()
      .flatMap(({ parameters }) => parameters)
      .filter(({ name }) => name.endsWith("color"));
    expect(inQuery.length).toBeGreaterThan(0);
    for (const parameter of inQuery) expect(parameter).toMatchObject({ schema: color });
  });

  test("of an enum have the comments of its values, and say which is deprecated", () => {
    expect(schema("Color")).toEqual({
      type: "string",
      enum: ["COLOR_UNSPECIFIED", "COLOR_RED", "COLOR_BROWN"],
      description: "- `COLOR_RED`: As in the east.\n- `COLOR_BROWN`: Deprecated.",
    });
  });
});

describe("media types", () => {
  test("of raw bodies are any", () => {
    expect(operation("post", "/v1/uploads/{name}").requestBody).toEqual({
      required: true,
      content: { "*/*": { schema: {} } },
    });
    expect(operation("get", "/v1/uploads/{name}").responses["200"]?.content).toEqual({
      "*/*": { schema: {} },
    });
  });

  test("of streams are those that the gateway reads and writes", () => {
    const { requestBody } = operation("post", "/v1/books:import");
    expect(Object.keys(requestBody?.content ?? {})).toEqual([
      "application/x-ndjson",
      "application/jsonl",
    ]);
    const { responses } = operation("get", "/v1/shelves/{shelf}/books:watch");
    const message = { $ref: "#/components/schemas/catalog.v1.Book" };
    const text = { schema: { type: "string", contentSchema: message } };
    expect(responses["200"]?.content).toMatchObject({
      "application/x-ndjson": text,
      "application/json": { schema: { type: "array", items: message } },
      "text/event-stream": text,
    });
  });
});

test("the form of JSON is that of the options", () => {
  const jsonOptions = { useProtoFieldName: true, alwaysEmitImplicit: false, enumAsInteger: true };
  const made = documentOf([CATALOG, ARCHIVE], { jsonOptions });
  const { properties, required } = schema("catalog.v1.Book", made);
  expect(properties).toMatchObject({
    old_title: {},
    color: { $ref: "#/components/schemas/ColorNumber" },
  });
  expect(required).toBeUndefined();
  expect(schema("ColorNumber", made)).toMatchObject({ type: "integer", enum: [0, 1, 2] });
  expect(schema("catalog.v1.BookInput", made)["properties"]).toMatchObject({
    color: { $ref: "#/components/schemas/Color" },
  });
});

describe("the form of JSON of one service", () => {
  const jsonOptions = { useProtoFieldName: true, alwaysEmitImplicit: false, enumAsInteger: true };
  const service = (name: string) => contract.registry.getService(name) as DescService;
  const documentWith = (own: ConnectRouterOptions | undefined): Document =>
    createOpenApi({
      title: "Library",
      version: "1",
      comments: readComments(contract.set.file),
      routes: (router) => router.service(service(CATALOG), {}, own).service(service(ARCHIVE), {}),
    }) as unknown as Document;

  test("is that of its own options, in schemas of their own", () => {
    const made = documentWith({ jsonOptions });
    const { properties, required } = schema("catalog.v1.BookProtoNamesSparseNumbers", made);
    expect(properties).toMatchObject({
      old_title: {},
      color: { $ref: "#/components/schemas/ColorNumber" },
    });
    expect(required).toBeUndefined();
    expect(schema("archive.v1.Book", made)).toEqual(schema("archive.v1.Book"));
  });

  test("adds no schemas if it is that of the document", () => {
    const own = { jsonOptions: { useProtoFieldName: false, alwaysEmitImplicit: true } };
    expect(documentWith(own)).toEqual(documentWith(undefined));
  });

  test("gives a valid document", async () => {
    const { valid, errors } = await new Validator().validate(
      structuredClone(documentWith({ jsonOptions })) as unknown as JsonObject,
    );
    expect(errors).toBeUndefined();
    expect(valid).toBe(true);
  });
});

test("a deprecated rpc is a deprecated operation", () => {
  const deprecated = operations().filter((one) => "deprecated" in one);
  expect(deprecated.map(({ operationId }) => operationId)).toEqual([
    "catalog_v1_LibraryService_DeleteBook",
  ]);
});

test("servers, licence and security schemes are those of the options", () => {
  const made = documentOf([CATALOG], {
    servers: ["/api", { url: "https://{region}.test", variables: { region: { default: "eu" } } }],
    info: { license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    securitySchemes: { bearer: { type: "http", scheme: "bearer" } },
    isPublic: ({ name }) => name === "GetStatus",
  });
  expect(made).toMatchObject({
    info: { title: "Library", license: { identifier: "Apache-2.0" } },
    servers: [{ url: "/api" }, { url: "https://{region}.test" }],
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { scheme: "bearer" } } },
  });
  expect(operation("get", "/v1/status", made)).toHaveProperty("security", []);
  expect(operation("post", "/v1/swaps", made)).not.toHaveProperty("security");
  expect(document).toMatchObject({ servers: [{ url: "." }] });
});
