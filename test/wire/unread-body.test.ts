import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);
const home = startedForAll(startStandIn);

const JSON_TYPE = "application/json";
const FORM_TYPE = "application/x-www-form-urlencoded";

async function send(path: string, body: string, type: string | undefined) {
  const headers = { authorization: TOKEN, ...(type !== undefined && { "content-type": type }) };
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/${path}`, {
    method: "POST",
    headers,
    body: Buffer.from(body),
  });
  return (await reply.json()) as { readonly code: number; readonly message: string };
}

/** Calls whose parameters are in the query, and which read no body. */
const CALLS = ["site/delete?name=home", "setting/delete?key=own", "webhook/delete?name=hook"];

const BODIES: readonly (readonly [body: string, type: string | undefined, field: string])[] = [
  ['{"dry_run": true}', JSON_TYPE, "dry_run"],
  ['{"dryRun": true}', JSON_TYPE, "dry_run"],
  ['{"dryrun": true}', JSON_TYPE, "dry_run"],
  // The type that curl sends by default.
  ['{"dry_run": true}', FORM_TYPE, "dry_run"],
  ['{"dry_run": true}', undefined, "dry_run"],
  ["dry_run=true", FORM_TYPE, "dry_run"],
  ["dry_run", FORM_TYPE, "dry_run"],
  ['{"name": "home", "expected_etag": "1.0123456789abcdef"}', JSON_TYPE, "expected_etag"],
];

test.each(CALLS.flatMap((call) => BODIES.map((body) => [call, ...body] as const)))(
  "%s with the body %s (%s) is refused, and removes nothing",
  async (call, body, type, field) => {
    const { sites, webhooks, settings } = as(service.port);
    if ((await sites.listSites({})).sites.length === 0) {
      await sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
      await webhooks.createWebhook({ webhook: { name: "hook", url: "https://example.com/a" } });
      await settings.saveSettings({ settings: [{ key: "own", value: "1", flag: 3 }] });
    }
    expect(await send(call, body, type)).toMatchObject({
      code: 400,
      message: expect.stringContaining(field),
    });
    expect((await sites.listSites({})).sites).toHaveLength(1);
    expect((await webhooks.listWebhooks({})).webhooks).toHaveLength(1);
    expect((await settings.getSetting({ key: "own" })).setting?.value).toBe("1");
  },
);

test("a body with more members than a call has is refused", async () => {
  const members = Array.from({ length: 101 }, (_, at) => [`m${at}`, 1] as const);
  const body = JSON.stringify(Object.fromEntries(members));
  expect(await send("setting/delete?key=own", body, JSON_TYPE)).toMatchObject({ code: 400 });
});

test.each([
  ["", JSON_TYPE],
  ["null", JSON_TYPE],
  ["{}", JSON_TYPE],
  ['{"key":"own"}', JSON_TYPE],
  ["no JSON", "text/plain"],
])("any other body, such as %j, is ignored, as legacy clients expect", async (body, type) => {
  const { settings } = as(service.port);
  await settings.saveSettings({ settings: [{ key: "own", value: "1", flag: 3 }] });
  expect(await send("setting/delete?key=own", body, type)).toMatchObject({ code: 200 });
});
