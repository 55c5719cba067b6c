import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, describe, expect, test } from "vitest";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { consoleTest, signIn } from "./console.ts";

const field = (page: Page, key: string) => page.locator(`#setting-${key}`);
const connection = (page: Page) => page.locator(".connection");

describe("two browsers", () => {
  const console = consoleTest({ env: { MOORING_MAX_CUSTOM_SETTINGS: "20000" } });

  test("show each other's changes without a reload", async () => {
    const [one, other] = [await console.enter("settings"), await console.enter("settings")];
    await field(one, "site_title").fill("Seen by both");
    await save(one);
    await expect.poll(() => field(other, "site_title").inputValue()).toBe("Seen by both");
    await other.getByText("admin has changed site_title.").waitFor();
    // A browser's own change is not announced.
    expect(await one.getByText("admin has changed").count()).toBe(0);
  });

  test("that change different settings at the same time lose nothing", async () => {
    const [one, other] = [await console.enter("settings"), await console.enter("settings")];
    await field(one, "site_title").fill("From one");
    await field(other, "default_page_size").fill("77");
    await save(one);
    await expect.poll(() => field(other, "site_title").inputValue()).toBe("From one");
    expect(await field(other, "default_page_size").inputValue()).toBe("77");
    await save(other);
    expect(await console.saved("site_title")).toBe("From one");
    expect(await console.saved("default_page_size")).toBe("77");
  });

  test("that change the same setting show the base and both values, and overwrite nothing", async () => {
    await console.change("site_title", "Base");
    const [one, other] = [await console.enter("settings"), await console.enter("settings")];
    await expect.poll(() => field(other, "site_title").inputValue()).toBe("Base");
    await field(other, "site_title").fill("Mine");
    await field(one, "site_title").fill("Theirs");
    await save(one);
    const conflict = other.locator(".conflict");
    await conflict.waitFor();
    for (const value of ["Base", "Theirs", "Mine"])
      expect(await conflict.innerText()).toContain(value);
    // The typed value is kept.
    expect(await field(other, "site_title").inputValue()).toBe("Mine");
    await other.getByRole("button", { name: "Review changes" }).click();
    const button = other.getByRole("button", { name: "Save 1 change" });
    expect(await button.isDisabled()).toBe(true);
    expect(await console.saved("site_title")).toBe("Theirs");
    await other.getByRole("button", { name: "Keep mine" }).click();
    await expect.poll(() => button.isDisabled()).toBe(false);
    await expect.poll(() => other.locator(".changes").innerText()).toContain("Theirs");
    await button.click();
    await other.getByText("1 change is saved").waitFor();
    expect(await console.saved("site_title")).toBe("Mine");
  });

  test("have nothing left to save when one adopts the other's value", async () => {
    const [one, other] = [await console.enter("settings"), await console.enter("settings")];
    await field(other, "site_title").fill("Given up");
    await field(one, "site_title").fill("Taken");
    await save(one);
    await other.getByRole("button", { name: "Take theirs" }).click();
    expect(await field(other, "site_title").inputValue()).toBe("Taken");
    expect(await other.locator(".edit-bar").count()).toBe(0);
  });

  test("refuse a save before the other's change has arrived, and show the change", async () => {
    const page = await console.enter("settings");
    await field(page, "site_title").fill("Too late");
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.locator(".changes").waitFor();
    // The stream is cut, with its events.
    await page.route("**/WatchSettings", (route) => route.abort());
    await console.stop();
    await console.start();
    await console.change("site_title", "Faster");
    await page.getByRole("button", { name: "Save 1 change" }).click();
    await page.locator(".conflict").waitFor();
    expect(await console.saved("site_title")).toBe("Faster");
    expect(await page.locator(".conflict").innerText()).toContain("Too late");
  });

  async function save(page: Page): Promise<void> {
    await page.getByRole("button", { name: "Review changes" }).click();
    await page.locator(".changes").waitFor();
    await page.getByRole("button", { name: /^Save/ }).click();
    await page.getByRole("heading", { name: "Settings" }).waitFor();
  }
});

describe("a service", () => {
  const console = consoleTest({ env: { MOORING_MAX_CUSTOM_SETTINGS: "20000" } });

  test("that stops is reported; after its restart nothing is missed, and edits are kept", async () => {
    const page = await console.enter("settings");
    await field(page, "default_page_size").fill("55");
    await console.stop();
    await expect.poll(() => connection(page).getAttribute("class")).toContain("lost");
    await page.getByText("The connection to Mooring is lost.").waitFor();
    await console.start();
    await console.change("site_title", "While away");
    await expect.poll(() => connection(page).getAttribute("class")).toContain("live");
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("While away");
    expect(await field(page, "default_page_size").inputValue()).toBe("55");
  });

  test("whose history was compacted beyond the page's revision sends a new snapshot", async () => {
    const page = await console.enter("settings");
    await field(page, "site_title").waitFor();
    await page.route("**/WatchSettings", (route) => route.abort());
    await console.stop();
    await console.start();
    for (let count = 0; count < 6; count += 1) await console.change("site_title", `Title ${count}`);
    await forget();
    await page.unroute("**/WatchSettings");
    await expect.poll(() => field(page, "site_title").inputValue()).toBe("Title 5");
    await expect.poll(() => connection(page).getAttribute("class")).toContain("live");
  });

  test("that deletes an open revision reports it at the next action", async () => {
    const revision = await console.change("site_title", "Soon forgotten");
    const page = await console.enter(`history?revision=${revision}`);
    await page.getByText("Soon forgotten").waitFor();
    for (const value of ["Later", "Later still"]) await console.change("site_title", value);
    await forget();
    expect(await page.getByText("Soon forgotten").count()).toBe(1);
    await page.getByRole("link", { name: `Restore revision ${revision - 1n}` }).click();
    await page.getByText("has been deleted").waitFor();
    await page.getByRole("link", { name: "History" }).last().click();
    await page.getByText(/^Revisions before \d+ are no longer kept/).waitFor();
  });

  /** Deletes all revisions but the newest, like the service's own job at another time. */
  async function forget(): Promise<void> {
    await console.stop();
    const store = await openSqliteStore(console.database());
    await store.compact({ count: 1, notBefore: 0 }, 1_000);
    await store.close();
    await console.start();
  }

  test("whose token is replaced signs out pages with the old one, and keeps the page that replaced it", async () => {
    const [one, other] = [
      await console.enter("settings?key=token"),
      await console.enter("settings"),
    ];
    await field(other, "site_title").waitFor();
    await one.getByRole("button", { name: "Replace the token" }).click();
    await one.getByRole("button", { name: "Replace now" }).click();
    const made = await one.locator("[data-token]").innerText();
    await other.getByText("Your token is no longer valid").waitFor();
    await one.getByRole("button", { name: "Close" }).first().click();
    await expect.poll(() => connection(one).getAttribute("class")).toContain("live");
    await signIn(other, made);
    await field(other, "site_title").waitFor();
  });
});

describe("many settings", () => {
  const console = consoleTest({ env: { MOORING_MAX_CUSTOM_SETTINGS: "20000" } });

  test("a thousand, and ten thousand, are found, edited and counted", async () => {
    for (const upTo of [1_000, 10_000]) {
      await fill(upTo);
      const page = await console.enter("settings");
      await expect.poll(() => page.locator(".marks").innerText()).toContain("Public");
      await page.getByRole("searchbox").fill(`custom_${upTo - 1}`);
      await field(page, `custom_${upTo - 1}`).fill("found");
      await page.getByRole("button", { name: "Review changes" }).click();
      await page.locator(".changes").waitFor();
      await page.getByRole("button", { name: "Save 1 change" }).click();
      await page.getByText("1 change is saved").waitFor();
      // Not all of them are in the page.
      expect(await page.locator("[data-key]").count()).toBeLessThan(200);
    }
  }, 120_000);

  /** Custom settings up to a count, in saves of the maximum size. */
  async function fill(upTo: number): Promise<void> {
    const { settings } = await console.settings.listSettings({ maskSecrets: true });
    const has = settings.filter(({ key }) => key.startsWith("custom_")).length;
    for (let from = has; from < upTo; from += 1_000) {
      const count = Math.min(1_000, upTo - from);
      const list = Array.from({ length: count }, (_, index) => ({
        key: `custom_${from + index}`,
        value: `value ${from + index}`,
        help: "One of many",
      }));
      await console.settings.saveSettings({ settings: list });
    }
  }
});

describe("a catalogue of drivers", () => {
  const folder = mkdtempSync(join(tmpdir(), "mooring-drivers-"));
  const console = consoleTest({ env: { MOORING_DRIVERS_DIR: folder } });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("that changes while it is open is updated", async () => {
    const page = await console.enter("drivers");
    await page.getByText(/^\d+ drivers$/).waitFor();
    const driver = {
      name: "Shelf",
      config: { default_root: "/" },
      additional: [{ name: "shelf_number", type: "number", help: "Which shelf." }],
    };
    writeFileSync(join(folder, "shelf.json"), JSON.stringify(driver));
    await page.getByRole("link", { name: /^Shelf/ }).click();
    await page.getByLabel("Shelf number").waitFor();
    rmSync(join(folder, "shelf.json"));
    await page.getByText("There is no driver Shelf.").waitFor();
  });
});
