import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  type FileDescriptorProto,
  type FileDescriptorSet,
  FileDescriptorSetSchema,
} from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../../src/gateway/openapi/command.ts";
import { defineRpcs } from "./contract.ts";
import { type Compiled, compileContract } from "./openapi/contract.ts";

let folder: string;
let file: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "mooring-openapi-"));
  file = join(folder, "thing.binpb");
  const [method] = defineRpcs([
    { name: "GetThing", http: { get: "/v1/things/{part_name}" } },
    { name: "Other" },
  ]);
  const files = new Set<FileDescriptorProto>();
  const add = (one: NonNullable<typeof method>["parent"]["file"]): void => {
    for (const needed of one.dependencies) add(needed);
    files.add(one.proto);
  };
  if (method) add(method.parent.file);
  writeFileSync(
    file,
    toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file: [...files] })),
  );
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(...args: string[]): { status: number; out: string; err: string } {
  const [out, err]: [string[], string[]] = [[], []];
  const status = runCommand(args, {
    out: (text) => void out.push(text),
    err: (text) => void err.push(text),
  });
  return { status, out: out.join(""), err: err.join("") };
}

test("the document of a file of descriptors is printed", () => {
  const { status, out } = run("openapi", file, "--title", "Things", "--api-version", "2");
  expect(status).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    openapi: "3.1.0",
    info: { title: "Things", version: "2" },
    paths: { "/v1/things/{part_name}": { get: { operationId: "ThingService_GetThing" } } },
    components: { schemas: { Thing: { properties: { partName: { type: "string" } } } } },
  });
});

test("rules of a service configuration, proto names and a service are applied, and a file is written", () => {
  const rules = join(folder, "service.json");
  const http = {
    rules: [{ selector: "test.v1.ThingService.Other", post: "/v1/other", body: "*" }],
  };
  writeFileSync(rules, JSON.stringify({ name: "things.example.com", http }));
  const to = join(folder, "openapi.json");
  const more = ["--rules", rules, "--proto-names", "--service", "test.v1.ThingService"];
  expect(run("openapi", file, ...more, "--out", to)).toEqual({ status: 0, out: "", err: "" });
  const document = JSON.parse(readFileSync(to, "utf8"));
  expect(Object.keys(document.paths)).toEqual(["/v1/things/{part_name}", "/v1/other"]);
  expect(document.components.schemas.Thing.properties).toHaveProperty("part_name");
});

describe("a file with imports", () => {
  const CATALOG = "catalog/v1/catalog.proto";
  let compiled: Compiled;
  const write = (name: string, set: FileDescriptorSet): string => {
    const path = join(folder, name);
    writeFileSync(path, toBinary(FileDescriptorSetSchema, set));
    return path;
  };
  const pathsOf = (text: string): string[] => Object.keys(JSON.parse(text).paths);
  beforeAll(() => {
    compiled = compileContract(CATALOG);
  });

  test("gives the services that are asked for, and names the others", () => {
    const { status, out, err } = run("openapi", write("buf.binpb", compiled.set));
    expect({ status, err }).toEqual({
      status: 0,
      err:
        "left out: archive.v1.LibraryService, of an imported file; " +
        "--service archive.v1.LibraryService adds it\n",
    });
    expect(JSON.parse(out)).toMatchObject({ info: { title: "LibraryService" } });
    expect(pathsOf(out).filter((path) => path.startsWith("/archive"))).toEqual([]);
  });

  test("of a compiler that does not mark them has those that another file imports", () => {
    const file = compiled.set.file.map(({ $unknown: _, ...one }) => one as FileDescriptorProto);
    const { out, err } = run("openapi", write("protoc.binpb", { ...compiled.set, file }));
    expect(err).toContain("archive.v1.LibraryService");
    expect(JSON.parse(out)).toMatchObject({ info: { title: "LibraryService" } });
  });

  test("gives an imported service by its name, and both as one document", () => {
    const path = write("buf.binpb", compiled.set);
    const service = ["--service", "archive.v1.LibraryService"];
    expect(pathsOf(run("openapi", path, ...service).out)).toEqual(["/archive/books/{id}"]);
    const both = run("openapi", path, ...service, "--service", "catalog.v1.LibraryService");
    expect(JSON.parse(both.out)).toMatchObject({ info: { title: "archive.v1, catalog.v1" } });
    expect(both.err).toBe("");
  });
});

test("servers, licence and security schemes are written", () => {
  const options = join(folder, "options.json");
  const securitySchemes = { bearer: { type: "http", scheme: "bearer" } };
  const info = { license: { name: "Apache-2.0", identifier: "Apache-2.0" } };
  writeFileSync(options, JSON.stringify({ info, securitySchemes }));
  const more = ["--options", options, "--server", "/api", "--description", "All things."];
  expect(JSON.parse(run("openapi", file, ...more).out)).toMatchObject({
    info: { description: "All things.", ...info },
    servers: [{ url: "/api" }],
    security: [{ bearer: [] }],
  });
  writeFileSync(options, JSON.stringify({ licence: "none" }));
  expect(run("openapi", file, "--options", options)).toMatchObject({
    status: 1,
    err: expect.stringContaining("licence is none of info, servers, securitySchemes"),
  });
});

test("unusable input is named", () => {
  expect(run("openapi", join(folder, "none"))).toMatchObject({
    status: 1,
    err: expect.stringMatching(/ENOENT/),
  });
  expect(run("openapi", file, "--service", "a.B").err).toContain("has no service a.B");
  expect(run("openapi", file, "--nope")).toMatchObject({
    status: 2,
    err: expect.stringMatching(/--nope/),
  });
  expect(run("serve")).toMatchObject({
    status: 2,
    err: expect.stringMatching(/^mooring-gateway openapi/),
  });
  expect(run("--help")).toMatchObject({
    status: 0,
    out: expect.stringMatching(/^mooring-gateway openapi/),
  });
});
