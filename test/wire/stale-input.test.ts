import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startService } from "./service.ts";

const home = startedForAll(startStandIn);
const service = startedForAll(() => startService());
const admin = startedForAll(() => as(service.port));
startedForAll(async () => {
  await admin.sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
  await admin.webhooks.createWebhook({
    webhook: { name: "chat", url: "https://chat.example/key" },
  });
  return { stop: async () => undefined };
});

const site = async () => {
  const found = (await admin.sites.getSite({ name: "home" })).site;
  if (found === undefined) throw new Error("no site");
  return found;
};
const webhook = async () => {
  const found = (await admin.webhooks.listWebhooks({})).webhooks[0];
  if (found === undefined) throw new Error("no webhook");
  return found;
};
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: unknown) => ConnectError.from(error).code,
  );

describe("a change of a record that somebody else has changed meanwhile is refused", () => {
  test.each([
    ["patterns", { exclude: { patterns: ["logo"] } }],
    ["values of its own", { overrides: { values: { site_title: "Home" } } }],
    ["its mode", { paused: true }],
  ])("of a site: %s", async (_, input) => {
    const { etag } = await site();
    await admin.sites.updateSite({ name: "home", site: input });
    const late = { name: "home", site: { include: { patterns: ["site_title"] } } };
    const dry = { ...late, expectedEtag: etag, dryRun: true };
    expect(await codeOf(admin.sites.updateSite(dry))).toBe(Code.Aborted);
    expect(await codeOf(admin.sites.updateSite({ ...late, expectedEtag: etag }))).toBe(
      Code.Aborted,
    );
    expect((await site()).include).toEqual([]);
    const now = await site();
    const reply = await admin.sites.updateSite({
      name: "home",
      site: { include: { patterns: ["site_title"] } },
      expectedEtag: now.etag,
    });
    expect(reply.site?.etag).not.toBe(now.etag);
    await admin.sites.updateSite({ name: "home", site: { include: { patterns: [] } } });
  });

  test.each([
    ["its sites", { sites: { names: ["home"] } }],
    ["its classes", { classes: { classes: [1] } }],
    ["its format", { format: 7, template: { body: "{{title}}" }, headers: { values: { a: "b" } } }],
    ["its state", { disabled: true }],
  ])("of a webhook: %s", async (_, input) => {
    const { etag } = await webhook();
    await admin.webhooks.updateWebhook({ name: "chat", webhook: input });
    const late = { name: "chat", webhook: { language: "zh-CN" } };
    const refused = admin.webhooks.updateWebhook({ ...late, expectedEtag: etag });
    expect(await codeOf(refused)).toBe(Code.Aborted);
    expect((await webhook()).language).toBe("en");
  });
});

test("an etag does not tell whether a guess of a secret is right", async () => {
  const { etag } = await site();
  for (const token of [home.token(), "another-token"]) {
    const reply = await admin.sites.updateSite({ name: "home", site: { token }, dryRun: true });
    expect(reply.site?.etag).toBe(etag);
  }
  const known = await webhook();
  const webhookInput = { url: "https://chat.example/other", secret: "" };
  await admin.webhooks.updateWebhook({ name: "chat", webhook: webhookInput });
  expect((await webhook()).etag).toBe(known.etag);
});
