import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { IncidentClass } from "../../../gen/mooring/v1/incident_pb.js";
import { serveHttp } from "../../loopback.ts";
import { consoleTest } from "./console.ts";

const console = consoleTest({ env: { MOORING_WEBHOOK_TARGETS: "any" } });

/** A server of webhooks, and the requests to it. */
async function startTarget() {
  const requests: { readonly method: string; readonly key: unknown; readonly body: string }[] = [];
  const { port } = await serveHttp(async (request, response) => {
    const { method = "", headers } = request;
    requests.push({ method, key: headers["x-key"], body: await text(request) });
    response.writeHead(204).end();
  });
  return { requests, url: `http://127.0.0.1:${port}/secret-path` };
}

/** Stores a webhook of a test. */
async function storeWebhook(name: string, url: string): Promise<void> {
  await console.webhooks.createWebhook({ webhook: { name, url } });
  onTestFinished(() => console.webhooks.deleteWebhook({ name }).then(() => undefined));
}

test("webhooks are created, tested, sent again, disabled and deleted", async () => {
  const { requests, url } = await startTarget();
  const page = await console.enter("webhooks");
  await page.getByText("There are no webhooks.").waitFor();
  await page.getByRole("button", { name: "Add a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("a chat");
  await dialog.getByLabel("Address").fill("ftp://x");
  await dialog.getByRole("button", { name: "Add a webhook" }).click();
  await dialog.locator(".wrong", { hasText: "letters" }).waitFor();
  await dialog.getByLabel("Name").fill("chat");
  await dialog.getByLabel("Address").fill(url);
  await dialog.getByLabel("quota").check();
  await dialog.getByRole("button", { name: "Add a webhook" }).click();
  await page.locator("[data-secret]", { hasText: "whsec_" }).waitFor();
  const row = page.locator("[data-webhook=chat]");
  await row.getByText("quota").waitFor();
  expect(await page.content()).not.toContain("secret-path");
  await row.getByRole("button", { name: "Send a test" }).click();
  await row.getByText("delivered").waitFor();
  await row.getByText("Message").click();
  await row.locator("pre", { hasText: '"type":"test"' }).waitFor();
  await row.getByRole("button", { name: "Send again" }).click();
  await row.getByText("2 attempts").waitFor();
  expect(requests.length).toBe(2);
  expect(requests[0]?.body).toBe(requests[1]?.body);
  await row.getByRole("button", { name: "Edit" }).click();
  await dialog.getByLabel("Name").fill("team chat");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.locator(".wrong", { hasText: "letters" }).waitFor();
  await dialog.getByLabel("Name").fill("chat");
  await dialog.getByLabel("network").check();
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("network").waitFor();
  // The address stays unless another one is typed.
  await row.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => requests.length).toBe(3);
  await row.getByRole("button", { name: "Disable" }).click();
  await row.locator(".badge", { hasText: "disabled" }).waitFor();
  await row.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete now" }).click();
  await page.getByText("There are no webhooks.").waitFor();
});

test("a webhook of a service asks for what the service needs, and its token is not shown again", async () => {
  const page = await console.enter("webhooks");
  await page.getByRole("button", { name: "Add a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("phone");
  await dialog.getByLabel("Service").selectOption("Telegram");
  expect(await dialog.getByLabel("Address").count()).toBe(0);
  await dialog.getByLabel("Token").fill("wrong");
  await dialog.getByRole("button", { name: "Add a webhook" }).click();
  await dialog.locator(".wrong", { hasText: "BotFather" }).waitFor();
  const token = "123456789:AAE-abcdefghijklmnopqrstuvwxyz012345";
  await dialog.getByLabel("Token").fill(token);
  await dialog.getByLabel("Chat").fill("-1001234567890");
  await dialog.getByRole("button", { name: "Add a webhook" }).click();
  const row = page.locator("[data-webhook=phone]");
  await row.getByText("Telegram").waitFor();
  expect(await page.locator("[data-secret]").count()).toBe(0);
  expect(await page.content()).not.toContain(token);
});

test("a template with method and headers is edited; hidden values stay, and newer ones are kept", async () => {
  const { requests, url } = await startTarget();
  await storeWebhook("form", url);
  const page = await console.enter("webhooks?edit=form");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Service").selectOption("Template");
  // Another format is another request: it needs its address again.
  await dialog.getByLabel("Address").fill(url);
  await dialog.getByLabel("Template", { exact: true }).fill("{{{title}}}");
  await dialog.getByLabel("Content-Type").fill("text/plain");
  await dialog.getByLabel("Method").selectOption("PUT");
  await dialog.getByRole("button", { name: "Add a value" }).click();
  await dialog.getByLabel("Name 1", { exact: true }).fill("X-Key");
  await dialog.getByLabel("Value 1", { exact: true }).fill("hidden-value");
  await dialog.getByLabel("quota").check();
  await dialog.getByLabel("Also send incidents of unknown cause").uncheck();
  await dialog.getByLabel("Language").selectOption("zh-CN");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  const stored = async () => (await console.webhooks.listWebhooks({})).webhooks[0];
  expect(await stored()).toMatchObject({
    template: { body: "{{{title}}}", contentType: "text/plain", method: "PUT" },
    headerNames: ["X-Key"],
    withoutUnknown: true,
    language: "zh-CN",
  });
  const row = page.locator("[data-webhook=form]");
  await row.getByRole("button", { name: "Edit" }).click();
  expect(await dialog.getByLabel("Value 1", { exact: true }).inputValue()).toBe("********");
  await dialog.getByLabel("Template", { exact: true }).fill("now {{{title}}}");
  await console.webhooks.updateWebhook({
    name: "form",
    webhook: { classes: { classes: [IncidentClass.NETWORK] } },
  });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText("Another user has changed this record.").waitFor();
  await dialog.getByRole("button", { name: "Continue with the newest state" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  expect((await stored())?.classes).toEqual([IncidentClass.NETWORK]);
  await row.getByRole("button", { name: "Send a test" }).click();
  await row.getByText("delivered").waitFor();
  expect(requests.at(-1)).toMatchObject({ method: "PUT", key: "hidden-value" });
  expect(requests.at(-1)?.body).toMatch(/^now /);
});

test("older messages of a webhook are shown on request, and one that is sent again stays", async () => {
  await storeWebhook("busy", (await startTarget()).url);
  for (let at = 0; at < 53; at += 1) await console.webhooks.testWebhook({ name: "busy" });
  const page = await console.enter("webhooks");
  const row = page.locator("[data-webhook=busy]");
  await row.getByRole("button", { name: "Deliveries" }).click();
  await expect.poll(() => row.locator("[data-delivery]").count()).toBe(50);
  await row.getByRole("button", { name: "Show older messages" }).click();
  await expect.poll(() => row.locator("[data-delivery]").count()).toBe(53);
  expect(await row.getByRole("button", { name: "Show older messages" }).count()).toBe(0);
  await row.getByRole("button", { name: "Send again" }).last().click();
  await row.locator("[data-delivery]").last().getByText("2 attempts").waitFor();
  expect(await row.locator("[data-delivery]").count()).toBe(53);
});
