import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, toBinary } from "@bufbuild/protobuf";
import { type FileDescriptorProto, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../../src/gateway/openapi/command.ts";
import { defineRpcs } from "./contract.ts";

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
