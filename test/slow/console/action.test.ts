import type { Page, Route } from "playwright-core";
import { beforeAll, expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { consoleTest, visit } from "./console.ts";

const console = consoleTest({ env: { MOORING_WEBHOOK_TARGETS: "any" } });

const site = startedForAll(startStandIn);
const second = startedForAll(startStandIn);
beforeAll(async () => {
  await console.addSite(site);
  await console.change("site_title", "Harbour");
  await console.mounts.saveMounts({
    mounts: [{ name: "films", mountPath: "/films", driver: "Local", sites: { all: true } }],
  });
  await console.webhooks.createWebhook({ webhook: { name: "chat", url: "http://127.0.0.1:9/" } });
  await console.token(["drivers:read"], "nightly");
});

/** Action of a page: the button that starts it, and the call that it makes. */
interface Case {
  readonly name: string;
  readonly address: string;
  /** Opens the dialog of the button. */
  readonly prepare?: (page: Page) => Promise<unknown>;
  /** Selector of the button. */
  readonly button: string;
  readonly call: string;
}

const press = (name: string) => (page: Page) =>
  page.getByRole("button", { name, exact: true }).first().click();
const named = (name: string): string => `main button:text-is("${name}")`;

const cases: readonly Case[] = [
  {
    name: "a save of a mount",
    address: "mount?name=films",
    button: "main form .ways .main",
    call: "MountService/SaveMounts",
  },
  {
    name: "a preview of a mount",
    address: "mount?name=films",
    button: named("Preview"),
    call: "MountService/SaveMounts",
  },
  {
    name: "a copy of a mount",
    address: "mount?name=films",
    prepare: press("Copy"),
    button: "dialog .main",
    call: "MountService/CopyMount",
  },
  {
    name: "an export of a mount",
    address: "mount?name=films",
    prepare: press("Export"),
    button: "dialog .main",
    call: "MountService/ExportMounts",
  },
  {
    name: "a deletion of a mount",
    address: "mount?name=films",
    prepare: async (page) => {
      await press("Delete")(page);
      await page.locator("dialog:not(:has(.skeleton))").waitFor();
    },
    button: "dialog .danger",
    call: "MountService/DeleteMounts",
  },
  {
    name: "an adoption of the values of a site",
    address: "sites?name=harbour",
    prepare: async (page) => {
      await page.locator(".changes .side").first().waitFor();
      await page.getByRole("button", { name: /^Adopt/ }).click();
    },
    button: "dialog .danger",
    call: "SiteService/AdoptSite",
  },
  {
    name: "a save of a site",
    address: "sites?name=harbour",
    prepare: press("Edit"),
    button: "dialog .main",
    call: "SiteService/UpdateSite",
  },
  {
    name: "a save of a webhook",
    address: "webhooks?edit=chat",
    button: "dialog .main",
    call: "WebhookService/UpdateWebhook",
  },
  {
    name: "a test of a webhook",
    address: "webhooks",
    button: named("Send a test"),
    call: "WebhookService/TestWebhook",
  },
  {
    name: "a deletion of a webhook",
    address: "webhooks",
    prepare: press("Delete"),
    button: "dialog .danger",
    call: "WebhookService/DeleteWebhook",
  },
  {
    name: "a new token",
    address: "tokens?new=1&for=nightly",
    prepare: (page) => page.locator(".scope-list input").first().check(),
    button: "main form .main",
    call: "AccessService/CreateToken",
  },
  {
    name: "a successor of a token",
    address: "tokens",
    prepare: (page) => page.locator('.token a[href*="rotate="]').first().click(),
    button: "main form .main",
    call: "AccessService/RotateToken",
  },
  {
    name: "a revocation",
    address: "tokens",
    prepare: (page) => page.locator(".token .how button").first().click(),
    button: "dialog .danger",
    call: "AccessService/RevokeToken",
  },
  {
    name: "a save of edited settings",
    address: "settings",
    prepare: async (page) => {
      // The field and the page of the review each check the edit by a dry run.
      let checks = 0;
      page.on("response", (response) => {
        if (response.url().endsWith("SettingService/SaveSettings")) checks += 1;
      });
      await page.locator("#setting-site_title").fill("Lighthouse");
      await page.locator(".edit-bar .main").click();
      await page.locator(".changes .side").first().waitFor();
      await expect.poll(() => checks).toBe(2);
    },
    button: "form.commit .main",
    call: "SettingService/SaveSettings",
  },
  {
    name: "a new setting",
    address: "settings",
    prepare: async (page) => {
      await page.locator(".tools > .button").click();
      await page.locator("dialog input").first().fill("custom_key");
    },
    button: "dialog .main",
    call: "SettingService/SaveSettings",
  },
  {
    name: "a new admin token",
    address: "settings?key=token",
    prepare: (page) => page.locator('[data-key="token"] .secret + .button').click(),
    button: "dialog .danger",
    call: "SettingService/ResetToken",
  },
  {
    name: "a connection to aria2",
    address: "settings?group=5",
    prepare: (page) => page.locator(".downloaders summary").first().click(),
    button: ".downloaders details[open] form .button",
    call: "SettingService/SetAria2",
  },
  {
    name: "an export",
    address: "backup",
    button: 'section[aria-labelledby="export-title"] .main',
    call: "BackupService/ExportArchive",
  },
  {
    name: "a backup, which the user can end",
    address: "backup",
    prepare: (page) => page.locator('main input[type="password"]').first().fill("p".repeat(20)),
    button: 'section[aria-labelledby="stored-title"] .ways .button',
    call: "BackupService/CreateBackup",
  },
  {
    name: "a download of the audit",
    address: "audit",
    button: ".page-head .button",
    call: "AuditService/ListAuditEvents",
  },
  {
    name: "a verification of the audit",
    address: "audit",
    button: ".verification .button",
    call: "AuditService/ListAuditEvents",
  },
];

test("two clicks on a button send one request, whose failure is shown and can be repeated", async () => {
  const page = await console.enter("");
  for (const { name, address, prepare, button, call } of cases) {
    await page.goto(`${console.origin}/console/${address}`);
    await page.locator("main:not(:has(.skeleton)) h1").waitFor();
    await prepare?.(page);
    const sent: Route[] = [];
    await page.route(`**/*${call}`, (route) => void sent.push(route));
    await page.locator(button).waitFor();
    // Before the page can draw the disabled button.
    await page.locator(button).evaluate((one) => {
      one.click();
      one.click();
    });
    await expect.poll(() => page.locator(`${button}:disabled`).count(), { message: name }).toBe(1);
    await expect.poll(() => sent.length, { message: name }).toBe(1);
    await sent[0]?.fulfill({
      status: 500,
      headers: { "content-type": "application/json" },
      body: '{"code":"internal","message":"something broke"}',
    });
    // Toasts are live regions around their texts.
    await page
      .locator('[role="alert"], [role="status"]')
      .filter({ hasText: "something broke" })
      .first()
      .waitFor();
    // An action on a site closes its dialog.
    await expect.poll(() => page.locator(`${button}:disabled`).count(), { message: name }).toBe(0);
    expect(sent.length, name).toBe(1);
    await page.unroute(`**/*${call}`);
    await page.evaluate("window.onbeforeunload = null");
    await page.evaluate('sessionStorage.removeItem("mooring.kept")');
  }
}, 300_000);

/** Actions that show another page at their end. */
const leading: readonly Case[] = [
  {
    name: "a copy of a mount",
    address: "mount?name=films",
    prepare: async (page) => {
      await press("Copy")(page);
      await page.getByLabel("New name").fill("copied");
      await page.locator("dialog input").nth(1).fill("/copied");
    },
    button: "dialog .main",
    call: "MountService/CopyMount",
  },
  {
    name: "a deletion of a mount",
    address: "mount?name=films",
    prepare: async (page) => {
      await press("Delete")(page);
      await page.locator("dialog:not(:has(.skeleton))").waitFor();
    },
    button: "dialog .danger",
    call: "MountService/DeleteMounts",
  },
  {
    name: "a new site",
    address: "sites?new=1",
    prepare: async (page) => {
      await page.locator("dialog input").nth(0).fill("second");
      await page.locator("dialog input").nth(1).fill(second.url);
      await page.locator("dialog input").nth(2).fill(second.token());
    },
    button: "dialog .main",
    call: "SiteService/CreateSite",
  },
  {
    name: "a rollback",
    address: "history?back=1",
    button: "form.commit .main",
    call: "SettingService/Rollback",
  },
];

test("an action that ends after its page was left does not bring the user to another page", async () => {
  const page = await console.enter("");
  for (const { name, address, prepare, button, call } of leading) {
    await visit(page, address);
    await prepare?.(page);
    await page.locator(button).waitFor();
    const sent: Route[] = [];
    await page.route(`**/*${call}`, (route) => void sent.push(route));
    await page.locator(button).click();
    await expect.poll(() => sent.length, { message: name }).toBe(1);
    await visit(page, "drivers?q=local");
    const answered = page.waitForResponse(`**/*${call}`);
    await sent[0]?.continue();
    expect((await answered).status(), name).toBe(200);
    await page.evaluate(
      "new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))",
    );
    expect(page.url(), name).toBe(`${console.origin}/console/drivers?q=local`);
    await page.unroute(`**/*${call}`);
  }
});

test("two clicks for older entries of a list show each entry once", async () => {
  // A page of the log has 30 entries.
  for (let at = 0; at < 31; at += 1) {
    await console.change("site_title", `${at}`);
    await console.sites.syncSite({ name: "harbour", keys: ["site_title"] });
  }
  const page = await console.enter("sites?name=harbour");
  const log = page.locator('section[aria-labelledby="site-log"]');
  await expect.poll(() => log.locator("li").count()).toBe(30);
  const { entries } = await console.sites.listSiteLog({ name: "harbour", pageSize: 100 });
  await log.getByRole("button", { name: "Older entries" }).evaluate((one) => {
    one.click();
    one.click();
  });
  await log.getByRole("button", { name: "Older entries" }).waitFor({ state: "detached" });
  expect(await log.locator("li").count()).toBe(entries.length);
});
