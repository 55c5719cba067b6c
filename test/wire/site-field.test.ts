import { create, type DescMethodUnary, fromJson, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { startService, TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import type { Outcome } from "./transport/transport.ts";

const { method } = SiteService;

/** Members of an otherwise valid site, and the fields of the violations. */
const WRONG: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  ["no name", { name: "" }, ["name"]],
  ["a name with a space", { name: "a b" }, ["name"]],
  ["a name with a path", { name: "../a" }, ["name"]],
  ["a name that is too long", { name: "a".repeat(65) }, ["name"]],
  ["a name that is not ASCII", { name: "hafen-süd" }, ["name"]],
  ["no address", { url: "" }, ["url"]],
  ["no host", { url: "http://" }, ["url"]],
  ["an invalid port", { url: "http://a.example:99999" }, ["url"]],
  ["half an address", { url: "http://[::1" }, ["url"]],
  ["another scheme", { url: "ftp://a.example" }, ["url"]],
  ["a script", { url: "javascript:alert(1)" }, ["url"]],
  ["a file", { url: "file:///etc/passwd" }, ["url"]],
  ["no scheme", { url: "a.example" }, ["url"]],
  ["a password in the address", { url: "http://me:s3cret-word@a.example" }, ["url"]],
  ["a query", { url: "http://a.example/?token=s3cret-word" }, ["url"]],
  ["a fragment", { url: "http://a.example/#x" }, ["url"]],
  ["a long address", { url: `http://a.example/${"x".repeat(1_000)}` }, ["url"]],
  ["no token", { token: "" }, ["token"]],
  ["a token with a space", { token: "s3cret word" }, ["token"]],
  ["a token of two lines", { token: "s3cret-word\nx" }, ["token"]],
  ["a token that is not allowed in a header", { token: "s3cret-wörd" }, ["token"]],
  ["a token that is too long", { token: "x".repeat(1_025) }, ["token"]],
  ["no certificate", { ca: "nonsense" }, ["ca"]],
  [
    "an invalid certificate",
    { ca: "-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----\n" },
    ["ca"],
  ],
  ["half a certificate", { ca: "-----BEGIN CERTIFICATE-----\n" }, ["ca"]],
  ["a long certificate", { ca: `-----BEGIN CERTIFICATE-----\n${"x".repeat(70_000)}` }, ["ca"]],
  ["a short fingerprint", { certificateSha256: "abc" }, ["certificate_sha256"]],
  ["a group without a number", { include: { patterns: ["group:x"] } }, ["include"]],
  ["an empty pattern", { exclude: { patterns: [""] } }, ["exclude"]],
  ["two patterns in one", { exclude: { patterns: ["a,b"] } }, ["exclude"]],
  ["a long pattern", { include: { patterns: ["x".repeat(256)] } }, ["include"]],
  ["many patterns", { include: { patterns: Array(201).fill("a") } }, ["include"]],
  ["an unknown key", { overrides: { values: { no_such: "x" } } }, ["overrides[no_such]"]],
  [
    "a key of the site's own settings",
    { overrides: { values: { token: "s3cret-word" } } },
    ["overrides[token]"],
  ],
  [
    "a wrong value",
    { overrides: { values: { default_page_size: "many" } } },
    ["overrides[default_page_size]"],
  ],
  [
    "a wrong secret value",
    { overrides: { values: { sso_client_secret: "s3cret-word".repeat(100_000) } } },
    ["overrides[sso_client_secret]"],
  ],
  ["all at once", { name: "", url: "x", token: "" }, ["name", "url", "token"]],
];

const service = startedForAll(startService);
const site = startedForAll(startStandIn);

/** One key more than a request may have. */
const MANY = Array.from({ length: 1_001 }, (_, index) => `key_${index}`);

describe("over gRPC", () => {
  const through = startedForAll(() => grpcTransport("gRPC", service.port));
  const kept = "kept";

  beforeAll(async () => {
    const made = await call(method.createSite, { site: right({ name: kept }) });
    expect(made).toMatchObject({ kind: "reply" });
  });

  afterAll(() => call(method.deleteSite, { name: kept }));

  const right = (members: JsonObject): JsonObject => ({
    name: "new",
    url: site.url,
    token: site.token(),
    ...members,
  });
  const call = (of: DescMethodUnary, body: JsonObject): Promise<Outcome> =>
    through.call(of, fromJson(of.input, body), { headers: { authorization: TOKEN } });

  function expectRefusal(outcome: Outcome, code: Code, fields?: readonly string[]): void {
    const text = JSON.stringify(outcome);
    expect(outcome, text).toMatchObject({ kind: "failure", code: through.codeOf(code) });
    if (fields !== undefined) expect(outcome).toMatchObject({ fields });
    expect(text).not.toMatch(/s3cret/);
  }

  test.each(WRONG)("%s", async (_, members, fields) => {
    expectRefusal(
      await call(method.createSite, { site: right(members) }),
      Code.InvalidArgument,
      fields,
    );
    expectRefusal(
      await call(method.updateSite, { name: kept, site: members }),
      Code.InvalidArgument,
      fields,
    );
    const { message } = (await call(method.getSite, { name: kept })) as { message: JsonObject };
    expect(message["site"]).toMatchObject({ name: kept, url: site.url });
  });

  test("a NUL anywhere is refused by the field's path", async () => {
    const wrong = right({ name: "a\0", overrides: { values: { site_title: "a\0" } } });
    const outcome = await call(method.createSite, { site: wrong });
    expectRefusal(outcome, Code.InvalidArgument, ["site.name"]);
  });

  test("no site at all, an invalid mode, and one that is too early are refused", async () => {
    expectRefusal(await call(method.createSite, {}), Code.InvalidArgument, ["site"]);
    const request = create(method.updateSite.input, {
      name: kept,
      site: { mode: 99 as SiteMode },
    });
    const unknown = await through.call(method.updateSite, request, {
      headers: { authorization: TOKEN },
    });
    expectRefusal(unknown, Code.InvalidArgument);
    const early = right({ name: "early", url: `${site.url}/early`, mode: SiteMode.FOLLOW });
    expectRefusal(await call(method.createSite, { site: early }), Code.FailedPrecondition);
  });

  test.each<[DescMethodUnary, JsonObject]>([
    [method.getSite, {}],
    [method.updateSite, { site: { paused: true } }],
    [method.deleteSite, {}],
    [method.checkSite, {}],
    [method.compareSite, {}],
    [method.adoptSite, {}],
    [method.syncSite, {}],
    [method.listSiteLog, {}],
  ])("$name of a site that does not exist is refused", async (of, body) => {
    for (const name of ["", "nobody", "a b", "x".repeat(5_000)])
      expectRefusal(await call(of, { ...body, name }), Code.NotFound);
  });

  test.each<[DescMethodUnary, JsonObject, readonly string[]]>([
    [method.listSiteLog, { pageSize: -1 }, ["page_size"]],
    [method.listSiteLog, { pageSize: 1_001 }, ["page_size"]],
    [method.listSiteLog, { before: "-1" }, ["before"]],
    [method.adoptSite, { keys: ["site_titel"] }, ["keys[0]"]],
    [method.adoptSite, { keys: ["site_title", "token"] }, ["keys[1]"]],
    [method.adoptSite, { reason: "x".repeat(501) }, ["reason"]],
    [method.adoptSite, { keys: MANY }, ["keys"]],
    [method.syncSite, { keys: MANY }, ["keys"]],
    [method.syncSite, { keys: ["", "no_such"] }, ["keys[0]", "keys[1]"]],
    [method.syncSite, { keys: ["version"], dryRun: true }, ["keys[0]"]],
  ])("$name with %j is refused", async (of, body, fields) => {
    expectRefusal(await call(of, { name: kept, ...body }), Code.InvalidArgument, fields);
    expect(site.saves).toEqual([]);
  });
});
