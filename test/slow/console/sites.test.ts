import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { consoleTest, enterAt, tabTo, visit } from "./console.ts";

const console = consoleTest();

/** Opens the form of a new site. */
async function fillSite(page: Page, url: string): Promise<void> {
  await page.getByRole("button", { name: "Add a site" }).click();
  await page.getByLabel("Name").fill("harbour");
  await page.getByLabel("Address").fill(url);
}

async function addSite(page: Page, token: string): Promise<void> {
  await page.getByLabel("Its admin token").fill(token);
  await page.locator("dialog").getByRole("button", { name: "Add a site" }).click();
}

describe("sites", () => {
  test("are added, compared, synced and removed", async () => {
    const site = await startStandIn();
    try {
      const page = await console.enter("sites");
      await page.getByText("There are no sites.").waitFor();
      await fillSite(page, site.url);
      await addSite(page, "a-wrong-token");
      await page.locator("dialog .wrong").waitFor();
      await addSite(page, site.token());
      await page.getByRole("heading", { name: "harbour" }).waitFor();

      await page.getByRole("button", { name: /^Adopt its/ }).waitFor();
      // It is one of the things to check.
      await visit(page, "");
      await page.locator(".lines li", { hasText: "harbour" }).getByRole("link").click();
      await page.getByRole("button", { name: /^Adopt its/ }).click();
      await page.getByText("No differences: the site is up to date.").waitFor();
      await console.settings.saveSettings({
        settings: [{ key: "site_title", value: "From the console" }],
      });
      await page.getByRole("button", { name: "Check now" }).click();
      await page.locator(".side.added", { hasText: "From the console" }).waitFor();
      expect(site.value("site_title")).not.toBe("From the console");
      await page.getByRole("button", { name: "Write 1 value to the site" }).click();
      await page.getByText("No differences: the site is up to date.").waitFor();
      expect(site.value("site_title")).toBe("From the console");

      await page.getByRole("button", { name: "Follow" }).click();
      await page.getByRole("button", { name: "Only compare" }).waitFor();
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("button", { name: "Remove now" }).click();
      await page.getByText("There are no sites.").waitFor();
    } finally {
      await site.stop();
    }
  });

  test("that are down are shown with the reason, here and on the first page", async () => {
    const site = await startStandIn();
    try {
      const page = await console.enter("sites");
      await fillSite(page, site.url);
      await addSite(page, site.token());
      await page.getByRole("heading", { name: "harbour" }).waitFor();
      await site.stop();
      await page.getByRole("button", { name: "Check now" }).click();
      await page.getByText("connection refused").first().waitFor();
      await visit(page, "");
      await page.locator(".lines li", { hasText: "harbour" }).getByRole("link").click();
      await page.getByText("connection refused").first().waitFor();
      await page.getByRole("button", { name: "Remove" }).click();
      await page.getByRole("button", { name: "Remove now" }).click();
      await page.getByText("There are no sites.").waitFor();
    } finally {
      await site.stop();
    }
  });

  test("are added, adopted, followed and removed with the keyboard alone", async () => {
    const site = await startStandIn();
    try {
      const page = await console.enter("sites");
      const type = (text: string) => page.keyboard.type(text);
      const enter = async (name: string): Promise<void> => {
        await page.getByRole("button", { name }).last().waitFor();
        await enterAt(page, name);
      };
      await enter("Add a site");
      await tabTo(page, "Name");
      await type("quay");
      await tabTo(page, "Address");
      await type(site.url);
      await tabTo(page, "Its admin token");
      await type(site.token());
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "quay" }).waitFor();
      const take = page.getByRole("button", { name: /^Adopt its/ });
      await take.waitFor();
      await enterAt(page, /^Adopt its/);
      await page.getByText("No differences: the site is up to date.").waitFor();
      await enter("Follow");
      await enter("Pause");
      await enter("Resume");
      await enter("Remove");
      await enter("Remove now");
      await page.getByText("There are no sites.").waitFor();
    } finally {
      await site.stop();
    }
  });
});
