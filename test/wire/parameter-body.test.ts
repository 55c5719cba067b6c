import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);
const home = startedForAll(startStandIn);

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

async function send(path: string, body?: string, type?: string) {
  const headers = { authorization: TOKEN, ...(type !== undefined && { "content-type": type }) };
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/${path}`, {
    method: "POST",
    headers,
    ...(body !== undefined && { body: Buffer.from(body) }),
  });
  return (await reply.json()) as { readonly code: number; readonly message: string };
}

/** A site, a webhook and a deprecated setting, created again if a call has removed them. */
async function prepare(): Promise<void> {
  const { sites, webhooks, settings } = as(service.port);
  if ((await sites.listSites({})).sites.length === 0)
    await sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
  if ((await webhooks.listWebhooks({})).webhooks.length === 0)
    await webhooks.createWebhook({ webhook: { name: "hook", url: home.url } });
  await settings.saveSettings({ settings: [{ key: "own", value: "1", flag: 3 }] });
}

/** Calls with their parameters in the query by the contract; each succeeds. */
const CALLS = [
  ["setting/delete", { key: "own" }],
  ["setting/default", { group: "1" }],
  ["site/check", { name: "home" }],
  ["site/compare", { name: "home" }],
  ["site/delete", { name: "home" }],
  ["webhook/test", { name: "hook" }],
  ["webhook/delete", { name: "hook" }],
] as const;

const encoded = (parameters: object) => new URLSearchParams({ ...parameters }).toString();

test.each(CALLS)("%s reads its parameters from query, JSON or form", async (path, parameters) => {
  const json = JSON.stringify(parameters);
  const requests = [
    [`${path}?${encoded(parameters)}`],
    [path, json, JSON_TYPE],
    // The type that curl sends by default.
    [path, json, FORM_TYPE],
    [path, json, undefined],
    [path, encoded(parameters), FORM_TYPE],
    [`${path}?${encoded(parameters)}`, json, JSON_TYPE],
  ] as const;
  for (const [url, body, type] of requests) {
    await prepare();
    // A test of a webhook whose address does not answer as one is a result.
    expect([url, body, await send(url, body, type)]).toEqual([
      url,
      body,
      expect.objectContaining({ code: 200 }),
    ]);
  }
});

test.each(CALLS)("%s refuses different values in query and body", async (path, parameters) => {
  await prepare();
  const others = Object.fromEntries(Object.keys(parameters).map((name) => [name, "2"]));
  expect(await send(`${path}?${encoded(parameters)}`, JSON.stringify(others), JSON_TYPE)).toEqual(
    expect.objectContaining({
      code: 400,
      message: expect.stringMatching(/^query and body have different values of \w+$/),
    }),
  );
});

test.each([
  ["site/delete?name=home", '{"dry_run": true}', JSON_TYPE],
  ["site/delete?name=home", '{"dryRun": true}', JSON_TYPE],
  ["site/delete", '{"name": "home", "dry_run": true}', undefined],
  ["site/delete?name=home", "dry_run=true", FORM_TYPE],
  ["site/delete?name=home", "dry_run", FORM_TYPE],
])("%s with the body %s is a dry run", async (call, body, type) => {
  await prepare();
  expect(await send(call, body, type)).toMatchObject({ code: 200 });
  expect((await as(service.port).sites.listSites({})).sites).toHaveLength(1);
});

const REFUSED: readonly (readonly [call: string, body: string, field: string])[] = [
  ["site/delete?name=home", '{"dryrun": true}', "dry_run"],
  ["site/delete?name=home", '{"dry_run": "yes"}', "dry_run"],
  ["site/delete?name=home", '{"expected_etag": "1.0123456789abcdef"}', "expected_etag"],
  ["site/delete", '{"nmae": "home"}', "name"],
  ["setting/delete?key=own", '{"dry_run": true}', "dry_run"],
  ["webhook/delete?name=hook", "dry_run", "dry_run"],
];

test.each(REFUSED)(
  "%s with the body %s is refused, and removes nothing",
  async (call, body, field) => {
    await prepare();
    const { sites, webhooks, settings } = as(service.port);
    expect(await send(call, body, FORM_TYPE)).toMatchObject({
      code: 400,
      message: expect.stringMatching(
        new RegExp(`^member of the body ".+": .*${field}|expected true`),
      ),
    });
    expect((await sites.listSites({})).sites).toHaveLength(1);
    expect((await webhooks.listWebhooks({})).webhooks).toHaveLength(1);
    expect((await settings.getSetting({ key: "own" })).setting?.value).toBe("1");
  },
);

test.each(['"\\ud800"', '["own","\\udc00"]'])(
  "a member %s, which is no Unicode text, is refused",
  async (value) => {
    expect(await send("setting/delete", `{"key":${value}}`, JSON_TYPE)).toEqual({
      code: 400,
      message: 'member of the body "key": expected valid Unicode text',
      data: null,
    });
  },
);

test("a body with more members than a query may have is refused", async () => {
  const members = Array.from({ length: 1_001 }, (_, at) => [`m${at}`, 1] as const);
  const body = JSON.stringify(Object.fromEntries(members));
  expect(await send("setting/delete?key=own", body, JSON_TYPE)).toMatchObject({ code: 400 });
});

test.each([
  ["", JSON_TYPE],
  ["null", JSON_TYPE],
  ["{}", JSON_TYPE],
  ["[1]", JSON_TYPE],
  ['{"key":null,"_":1}', JSON_TYPE],
  ["no JSON", "text/plain"],
  ["100%", "text/plain"],
])("any other body, such as %j, is ignored, as legacy clients expect", async (body, type) => {
  await prepare();
  expect(await send("setting/delete?key=own", body, type)).toMatchObject({ code: 200 });
});
