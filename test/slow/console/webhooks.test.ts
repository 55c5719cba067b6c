import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { IncidentClass } from "../../../gen/mooring/v1/incident_pb.js";
import { WebhookService } from "../../../gen/mooring/v1/webhook_service_pb.js";
import { consoleTest } from "./console.ts";

const console = consoleTest({ env: { MOORING_WEBHOOK_TARGETS: "any" } });

test("webhooks are created, tested, sent again, disabled and deleted", async () => {
  const bodies: string[] = [];
  const target = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      bodies.push(body);
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/secret-path`;
  try {
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
    expect(bodies.length).toBe(2);
    expect(bodies[0]).toBe(bodies[1]);
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
    await expect.poll(() => bodies.length).toBe(3);
    await row.getByRole("button", { name: "Disable" }).click();
    await row.locator(".badge", { hasText: "disabled" }).waitFor();
    await row.getByRole("button", { name: "Delete" }).click();
    await page.getByRole("button", { name: "Delete now" }).click();
    await page.getByText("There are no webhooks.").waitFor();
  } finally {
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
  }
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
  const requests: { method: string; key: unknown; body: string }[] = [];
  const target = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => {
      body += chunk;
    });
    request.on("end", () => {
      requests.push({ method: request.method ?? "", key: request.headers["x-key"], body });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/secret-path`;
  const webhooks = console.client(WebhookService);
  await webhooks.createWebhook({ webhook: { name: "form", url } });
  try {
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
    const stored = async () => (await webhooks.listWebhooks({})).webhooks[0];
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
    await webhooks.updateWebhook({
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
  } finally {
    await webhooks.deleteWebhook({ name: "form" });
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
  }
});

test("older messages of a webhook are shown on request, and one that is sent again stays", async () => {
  const target = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(204).end());
  });
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
  const webhooks = console.client(WebhookService);
  await webhooks.createWebhook({ webhook: { name: "busy", url } });
  try {
    for (let at = 0; at < 53; at += 1) await webhooks.testWebhook({ name: "busy" });
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
  } finally {
    await webhooks.deleteWebhook({ name: "busy" });
    target.closeAllConnections();
    await new Promise((resolve) => target.close(resolve));
  }
});
