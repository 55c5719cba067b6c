import type { Page, Route } from "playwright-core";
import { expect, test } from "vitest";
import { consoleTest, signIn } from "./console.ts";

const console = consoleTest();

/** Pages, each with its required call, and its text after that call. */
const pages = [
  { address: "", call: "SettingService/ListRevisions", ready: ".revision" },
  { address: "settings", call: "SettingService/ListSettings", ready: "#setting-site_title" },
  { address: "history", call: "SettingService/ListRevisions", ready: ".revision" },
  { address: "history?revision=1", call: "SettingService/GetRevision", ready: ".changes" },
  { address: "drivers", call: "DriverService/ListDrivers", ready: ".drivers a" },
  { address: "sites", call: "SiteService/WatchSites", ready: "text=There are no sites" },
  { address: "tokens", call: "AccessService/ListTokens", ready: "text=There are no tokens" },
  { address: "audit", call: "AuditService/ListAuditEvents", ready: ".event" },
];

/** Retries, unless the page does so by itself at that moment. */
async function tryAgain(page: Page): Promise<void> {
  const again = page.getByRole("button", { name: "Try again" }).first();
  await again.click({ timeout: 3_000 }).catch(() => undefined);
}

test.each(pages)(
  "$address shows loading, then no answer, and continues",
  async ({ address, call, ready }) => {
    const page = await console.open(address);
    const pending: Route[] = [];
    let now: "hold" | "abort" | "pass" = "hold";
    await page.route(`**/*${call}`, async (route) => {
      if (now === "hold") pending.push(route);
      else if (now === "abort") await route.abort();
      else await route.continue();
    });
    await signIn(page);
    await page.locator("main .skeleton").first().waitFor();
    await expect.poll(() => pending.length).toBeGreaterThan(0);
    now = "abort";
    for (const route of pending) await route.abort();
    const lost = page.getByText("Mooring does not answer.");
    await lost.or(page.getByText("The connection to Mooring is lost.")).first().waitFor();
    expect(await page.locator(ready).count()).toBe(0);
    now = "pass";
    await tryAgain(page);
    await page.locator(ready).first().waitFor();
    await expect.poll(() => lost.count()).toBe(0);
  },
);

test("an error of the service is shown with its message and the request's id", async () => {
  const page = await console.open("history");
  await page.route("**/*SettingService/ListRevisions", (route) =>
    route.fulfill({
      status: 500,
      headers: { "content-type": "application/json", "x-request-id": "abc-1" },
      body: '{"code":"internal","message":"something broke"}',
    }),
  );
  await signIn(page);
  await page.getByText("something broke").waitFor();
  await page.getByText("abc-1").waitFor();
  await page.unroute("**/*SettingService/ListRevisions");
  await tryAgain(page);
  await page.locator(".revision").first().waitFor();
});
