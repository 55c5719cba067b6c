import type { Page, Request } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { consoleTest, signIn, visit } from "./console.ts";

const console = consoleTest();
const site = startedForAll(startStandIn);

beforeAll(async () => {
  await console.addSite(site);
  // Data to compare, restore, show and delete.
  await console.settings.saveSettings({
    settings: [
      { key: "site_title", value: "Pier" },
      { key: "aria2_secret", value: "hush" },
      { key: "of_ones_own", value: "1" },
    ],
  });
});

/** Pages by their address, with the scopes of which one opens the page. */
const pages = {
  settings: ["settings:read"],
  review: ["settings:write"],
  history: ["history:read"],
  drivers: ["drivers:read"],
  sites: ["sites:read"],
  backup: ["backup:export", "backup:import"],
  tokens: ["tokens:manage"],
  audit: ["audit:read"],
} as const;

/** Tokens with few rights, with the pages that they open. */
const tokens = [
  { scopes: ["settings:read"], open: ["settings"] },
  { scopes: ["settings:read", "history:read"], open: ["settings", "history"] },
  { scopes: ["settings:write"], open: ["settings", "review"] },
  { scopes: ["settings:delete"], open: ["settings"] },
  { scopes: ["settings:reveal"], open: ["settings"] },
  { scopes: ["history:read"], open: ["history"] },
  { scopes: ["history:rollback"], open: ["history"] },
  { scopes: ["drivers:read"], open: ["drivers"] },
  { scopes: ["sites:read"], open: ["sites"] },
  { scopes: ["sites:read", "settings:read"], open: ["settings", "sites"] },
  { scopes: ["sites:manage", "settings:read"], open: ["settings", "sites"] },
  { scopes: ["backup:export"], open: ["backup"] },
  { scopes: ["backup:import"], open: ["backup"] },
  { scopes: ["tokens:manage"], open: ["tokens"] },
  { scopes: ["audit:read"], open: ["audit"] },
  { scopes: ["settings:write"], limits: ["key:s3_*"], open: ["settings", "review"] },
] as const;

/** Places with further buttons below the pages that open. */
const deeper: Readonly<Record<string, readonly string[]>> = {
  settings: ["?q=s3_", "?key=aria2_secret", "?key=token", "?key=of_ones_own", "?group=5"],
  history: ["?revision=2", "?from=1&to=2", "?back=1"],
  drivers: ["?name=Local"],
  sites: ["?name=harbour"],
  tokens: ["?new=1"],
};

/** Buttons that end the token itself, and one whose key decides whether it is permitted. */
const LEFT = ["Disable now", "Revoke now", "Create"];

describe("a token", () => {
  test.each(tokens)(
    "for $scopes, $limits, is offered its permitted actions, and none that is refused",
    async ({ scopes, open, ...rest }) => {
      const limits = "limits" in rest ? rest.limits : [];
      const page = await console.open("");
      const refused = refusedCalls(page);
      await page.locator(".check input").check();
      await signIn(page, await console.token(scopes, "somebody", limits));
      const menu = await page
        .locator(".menu nav a")
        .evaluateAll((links) => links.map((link) => link.getAttribute("href")));
      const entries = open.filter((name) => name !== "review").map((name) => `/console/${name}`);
      expect(menu).toEqual(["/console/overview", ...entries]);
      await pressEverything(page);
      for (const [name, needs] of Object.entries(pages)) {
        if ((open as readonly string[]).includes(name)) {
          for (const query of ["", ...(deeper[name] ?? [])]) {
            await visit(page, `${name}${query}`);
            await pressEverything(page);
          }
        } else {
          await visit(page, name);
          await page.getByText("Your token does not allow this.").waitFor();
          for (const need of needs) await page.locator("main code", { hasText: need }).waitFor();
        }
      }
      expect(refused).toEqual([]);
    },
  );

  test("that reads no settings requests none after a reload, either", async () => {
    const page = await console.open("drivers");
    const refused = refusedCalls(page);
    await page.locator(".check input").check();
    await signIn(page, await console.token(["drivers:read"]));
    await page.reload();
    await page.locator(".drivers a").first().waitFor();
    await page.locator(".whose", { hasText: "somebody" }).waitFor();
    expect(refused).toEqual([]);
    // The next user to sign in has their own rights.
    await page.getByRole("button", { name: "Sign out" }).first().click();
    await page.locator(".check input").check();
    await signIn(page);
    await page.locator(".connection.live").waitFor();
    await page.reload();
    await page.locator(".connection.live").waitFor();
    expect(refused).toEqual([]);
  });

  test("that may only read settings cannot edit, reveal, create or delete any", async () => {
    const page = await console.enter("settings?key=aria2_secret", {
      token: await console.token(["settings:read"]),
    });
    const field = page.locator("#setting-aria2_secret");
    await field.waitFor();
    expect(await field.getAttribute("readonly")).not.toBeNull();
    expect(await page.getByRole("button", { name: "Show the value" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: "New" }).count()).toBe(0);
    // The same page with all rights has all of it.
    const other = await console.enter("settings?key=aria2_secret");
    await other.getByRole("button", { name: "Show the value" }).waitFor();
    expect(await other.locator("#setting-aria2_secret").getAttribute("readonly")).toBeNull();
    expect(await other.getByRole("button", { name: "New" }).count()).toBe(1);
  });

  test("that makes a forbidden call is refused, and the check of these tests detects it", async () => {
    const token = await console.token(["drivers:read"]);
    const page = await console.enter("", { token });
    const refused = refusedCalls(page);
    await page.evaluate(
      `fetch("../mooring.v1.SettingService/ResetToken", { method: "POST", body: "{}", headers:
        { authorization: "Bearer ${token}", "content-type": "application/json" } })`,
    );
    expect(refused).toEqual(["/mooring.v1.SettingService/ResetToken"]);
  });
});

/** Refused calls of a page for missing rights, from now on. */
function refusedCalls(page: Page): string[] {
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(new URL(response.url()).pathname);
  });
  return refused;
}

/** Clicks on every offered element, then on every new one. */
async function pressEverything(page: Page): Promise<void> {
  const waiting = new Set<Request>();
  const begin = (request: Request): void => {
    if (!request.url().includes("/Watch")) waiting.add(request);
  };
  const end = (request: Request): void => void waiting.delete(request);
  page.on("request", begin).on("requestfinished", end).on("requestfailed", end);
  for (const among of ["main button", "main dialog button, main form button"]) {
    await page.evaluate(
      `for (const button of document.querySelectorAll(${JSON.stringify(among)}))
        if (!${JSON.stringify(LEFT)}.includes(button.innerText)) button.click()`,
    );
    await expect.poll(() => waiting.size).toBe(0);
  }
  page.off("request", begin).off("requestfinished", end).off("requestfailed", end);
}
