import { readFile } from "node:fs/promises";
import type { Route } from "playwright-core";
import { describe, expect, test } from "vitest";
import { consoleTest, enterAt, signIn, TOKEN, tabTo } from "./console.ts";
import { weighConsole } from "./weight.ts";

const console = consoleTest();
describe("history", () => {
  test("lists changes with actor, transport and reason, and applies its filters", async () => {
    await console.change("site_title", "First", "because of spring");
    await console.change("robots_txt", "User-agent: *");
    const page = await console.enter("history");
    await page.getByText("because of spring").waitFor();
    await page.getByLabel("Key", { exact: true }).fill("robots_txt");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByText("because of spring").count()).toBe(0);
    await page.locator(".revision", { hasText: "robots_txt" }).waitFor();
    await page.getByRole("button", { name: "Clear" }).click();
    await page.getByText("because of spring").waitFor();
    await page.getByLabel("Source").selectOption("start");
    await expect.poll(() => page.locator(".revision").count()).toBe(1);
    await page.getByLabel("Source").selectOption("");
    await page.getByLabel("From date").fill("2100-01-01");
    await page.getByText("No changes match.").waitFor();
  });

  test("shows new revisions at the top when they arrive", async () => {
    const page = await console.enter("history");
    await page.locator(".revision").first().waitFor();
    await console.change("site_title", "Live", "while one looks");
    await expect
      .poll(() => page.locator(".revision").first().innerText())
      .toContain("while one looks");
  });

  test("keeps a typed filter, and loaded older revisions, when new ones arrive", async () => {
    for (let count = 0; count < 60; count += 1)
      await console.change("site_title", `Title ${count}`);
    const page = await console.enter("history");
    await page.getByRole("button", { name: "Show older revisions" }).click();
    const rows = () => page.locator(".revision").count();
    await expect.poll(rows).toBeGreaterThan(60);
    const before = await rows();
    const field = page.getByLabel("Key", { exact: true });
    await field.fill("robots_");
    await console.change("robots_txt", "User-agent: none", "while one types");
    await page.getByText("while one types").waitFor();
    await expect.poll(rows).toBe(before + 1);
    expect(await field.inputValue()).toBe("robots_");
    await field.pressSequentially("txt");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByText("site_title").count()).toBe(0);
    await page.getByText("while one types").waitFor();
  });

  test("compares two revisions, with the changed words marked", async () => {
    const from = await console.change("announcement", "One line\nThe second line is here\nThe end");
    const to = await console.change("announcement", "One line\nThe second line is there\nThe end");
    const page = await console.enter("history");
    for (const revision of [from, to])
      await page.getByLabel(`Choose revision ${revision} to compare`).check();
    await page.getByRole("button", { name: "Compare two" }).click();
    await page.getByRole("heading", { name: `From revision ${from} to ${to}` }).waitFor();
    await expect.poll(() => page.locator(".side.removed").innerText()).toContain("is here");
    expect(await page.locator(".side.added").innerText()).toContain("is there");
    expect(await page.locator(".side.same").allInnerTexts()).toHaveLength(2);
  });

  test("rolls back after a preview with the secrets that stay, with the keyboard alone", async () => {
    const before = await console.change("site_title", "The good old title");
    await console.change("aria2_secret", "a-secret-of-today");
    await console.change("site_title", "A mistake");
    await console.change("default_page_size", "99");
    const page = await console.enter(`history?back=${before}`);
    await page.getByText("1 item cannot be restored").waitFor();
    await page.locator(".changes").waitFor();
    await page.getByRole("button", { name: "Discard the edit of default_page_size" }).focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => page.locator(".changes > li").count()).toBe(1);
    await page.getByLabel("Reason").focus();
    await page.keyboard.type("It was a mistake");
    await page.keyboard.press("Enter");
    await page.getByText("was restored as revision").waitFor();
    expect(await console.saved("site_title")).toBe("The good old title");
    expect(await console.saved("default_page_size")).toBe("99");
    const { revisions } = await console.settings.listRevisions({ pageSize: 1 });
    expect(revisions[0]).toMatchObject({ method: "Rollback", reason: "It was a mistake" });
  });

  test("prints a difference without interactive controls", async () => {
    const revision = await console.change("site_title", "On paper");
    const page = await console.enter(`history?revision=${revision}`);
    await page.getByText("On paper").waitFor();
    await page.emulateMedia({ media: "print" });
    expect(await page.locator(".menu").isVisible()).toBe(false);
    expect(await page.getByText("On paper").isVisible()).toBe(true);
  });
});

describe("drivers", () => {
  test("are searched, and a form marks required items and is validated by the service", async () => {
    const page = await console.enter("drivers");
    await page.getByRole("searchbox").fill("sftp");
    await page.locator('a[href$="name=SFTP"]').click();
    await page.locator("#item-address").waitFor();
    await page.locator("#item-mount_path").fill("/files");
    await page.locator("#item-address").fill("files.example.org:22");
    await page.locator("#item-username").fill("reader");
    await expect
      .poll(() => page.locator(".result pre").innerText())
      .toContain("files.example.org:22");
    await page.locator("#item-order").fill("one");
    await expect.poll(() => page.locator("#item-order-wrong").innerText()).toContain("number");
    await page.locator(".result a", { hasText: "order" }).click();
    expect(await page.evaluate("document.activeElement.id")).toBe("item-order");
    await page.locator("#item-order").fill("1");
    await page.getByText("The service accepts this configuration.").waitFor();
  });

  test("show an item only when its condition on another item holds", async () => {
    const page = await console.enter("drivers?name=Onedrive");
    const shown = (name: string) => page.locator(`#item-${name}`).count();
    await expect.poll(() => shown("api_url_address")).toBe(1);
    expect(await shown("client_id")).toBe(0);
    await page.locator("#item-use_online_api").click();
    await expect.poll(() => shown("client_id")).toBe(1);
    expect(await shown("api_url_address")).toBe(0);
  });

  test("start from a pasted configuration, and are copied as JSON and schema", async () => {
    const page = await console.enter("drivers?name=Local");
    await page.getByRole("button", { name: "Paste a configuration" }).click();
    const area = page.getByLabel(/^JSON/);
    await area.fill('{ "mount_path": "/here", }');
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByText("This is not JSON at line 1, column 26").waitFor();
    await area.fill(JSON.stringify({ driver: "S3", mount_path: "/here" }));
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByText("This is a configuration of the driver S3.").waitFor();
    const storage = {
      id: 7,
      driver: "Local",
      mount_path: "/here",
      status: "work",
      addition: JSON.stringify({ root_folder_path: "/srv/files", no_such_item: "x" }),
    };
    await area.fill(JSON.stringify(storage));
    await page.getByRole("button", { name: "Use it" }).click();
    await page.getByText("no items called no_such_item").waitFor();
    expect(await page.locator("#item-root_folder_path").inputValue()).toBe("/srv/files");
    await expect.poll(() => page.locator(".result pre").innerText()).toContain('"/srv/files"');
    const download = page.waitForEvent("download");
    await page.getByRole("button", { name: "JSON Schema" }).click();
    const schema = JSON.parse(await readFile(await (await download).path(), "utf8"));
    expect(schema.properties).toHaveProperty("root_folder_path");
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy JSON" }).click();
    await page.getByText("Copied").waitFor();
    expect(JSON.parse(await page.evaluate("navigator.clipboard.readText()"))).toMatchObject({
      mount_path: "/here",
    });
  });
});

describe("drivers, with the keyboard alone", () => {
  test("are found, filled in, corrected, pasted and copied", async () => {
    const page = await console.enter("drivers");
    const type = (text: string) => page.keyboard.type(text);
    const press = (key: string) => page.keyboard.press(key);
    await page.locator(".drivers a").first().waitFor();
    await press("/");
    await type("sftp");
    await expect.poll(() => page.locator(".drivers a").count()).toBe(1);
    await enterAt(page, /^SFTP/);
    await page.locator("#item-address").waitFor();
    await enterAt(page, "Paste a configuration");
    await tabTo(page, /^JSON/);
    await type('{"mount_path":"/files","username":"reader","order":"one"}');
    await enterAt(page, "Use it");
    await page.locator(".result a", { hasText: "order" }).waitFor();
    await enterAt(page, "order");
    expect(await page.evaluate("document.activeElement.id")).toBe("item-order");
    await press("Control+a");
    await type("1");
    await page.locator(".result a", { hasText: "address" }).waitFor();
    await enterAt(page, "address");
    await type("files.example.org:22");
    await page.getByText("The service accepts this configuration.").waitFor();
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await enterAt(page, "Copy JSON");
    await page.getByText("Copied").waitFor();
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(JSON.parse(copied)).toMatchObject({ address: "files.example.org:22", order: 1 });
  });
});

describe("the console", () => {
  test("is in the browser's language, changes it without a reload, and keeps the choice", async () => {
    const page = await console.enter("settings", { locale: "zh-CN" });
    await page.getByRole("heading", { name: "设置" }).waitFor();
    expect(await page.evaluate("document.documentElement.lang")).toBe("zh-CN");
    // The service's own texts too, and again when the language changes.
    await page.getByLabel("站点名称").fill("一个标题");
    await page.locator(".menu select").selectOption("en");
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    await expect.poll(() => page.getByLabel("Site title").inputValue()).toBe("一个标题");
    await page.getByRole("button", { name: "Discard all" }).click();
    await page.reload();
    await page.locator(".shell h1").first().waitFor();
    expect(await page.locator("html").getAttribute("lang")).toBe("en");
  });

  test("has the service's texts in its language after a reload, too", async () => {
    const page = await console.open("settings", { locale: "zh-CN" });
    await page.locator(".check input").check();
    await signIn(page);
    await page.reload();
    await page.getByLabel("站点名称").waitFor();
  });

  test("has the chosen appearance, or that of the system", async () => {
    const page = await console.enter("settings", { colorScheme: "dark" });
    const ground = () =>
      page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
    const dark = await ground();
    await page
      .locator(".menu")
      .getByRole("button", { name: /^Theme/ })
      .click();
    await expect.poll(ground).not.toBe(dark);
    await page.reload();
    await page.locator(".shell h1").first().waitFor();
    expect(await ground()).not.toBe(dark);
  });

  test("has short animations, and none if the system requests that", async () => {
    const page = await console.enter("settings");
    await page.locator("#setting-site_title").waitFor();
    const longest = () =>
      page.evaluate<number>(`Math.max(...[...document.querySelectorAll("*")].flatMap((one) => {
        const { transitionDuration, animationDuration } = getComputedStyle(one);
        return [transitionDuration, animationDuration].join().split(",").map(parseFloat);
      }))`);
    expect(await longest()).toBeGreaterThan(0);
    expect(await longest()).toBeLessThanOrEqual(0.15);
    await page.emulateMedia({ reducedMotion: "reduce" });
    expect(await longest()).toBe(0);
  });

  test("is light: the first page, its scripts, and the addition of each other page", async () => {
    const { first, scripts, pages } = await weighConsole(console.browser, {
      origin: console.origin,
      token: TOKEN,
    });
    // Detects a page of size 0.
    expect(scripts).toBeGreaterThan(30_000);
    expect(scripts).toBeLessThanOrEqual(75_000);
    expect(first).toBeLessThanOrEqual(90_000);
    for (const [name, added] of Object.entries(pages)) {
      expect(added, name).toBeGreaterThan(500);
      // The page of a mount needs four services, and the forms of all drivers.
      expect(added, name).toBeLessThanOrEqual(name === "mount" ? 32_000 : 26_000);
    }
  });

  test.each([
    ["", "Overview"],
    ["settings", "Settings"],
    ["review", "Review changes"],
    ["history", "History"],
    ["drivers", "Drivers"],
    ["sites", "Sites"],
    ["mounts", "Mounts"],
    ["backup", "Backup"],
    ["tokens", "Tokens"],
    ["audit", "Audit"],
  ])("has the page %s with its own title", async (address, title) => {
    const page = await console.enter(address);
    await expect.poll(() => page.title()).toBe(`${title} · Mooring`);
  });

  test("goes to pages and drivers by a few letters, and links to the reference of the interface", async () => {
    const page = await console.enter("");
    const type = async (text: string) => {
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Go to" }).fill(text);
    };
    await type("nothing-like-it");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("dialog").count()).toBe(0);
    await type("hist");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "History" }).waitFor();
    await type("webdav");
    await page.getByRole("option", { name: /^WebDAV driver/i }).click();
    await page.locator("#item-address").waitFor();
    await page.getByRole("link", { name: "Overview" }).first().click();
    const opened = page.context().waitForEvent("page");
    await page.getByRole("link", { name: "API reference" }).click();
    const reference = await opened;
    await reference.getByText("/api/admin/setting/list").first().waitFor();
    expect(new URL(reference.url()).pathname).toBe("/reference");
    // The user is still signed in.
    await page.getByRole("heading", { name: "Recent changes" }).waitFor();
  });

  test("opens its list again at once after Escape", async () => {
    const page = await console.enter("");
    const field = page.getByRole("combobox", { name: "Go to" });
    await page.keyboard.press("Control+k");
    for (let turn = 0; turn < 10; turn += 1) {
      await field.fill("hist");
      await Promise.all([page.keyboard.press("Escape"), page.keyboard.press("Control+k")]);
      await expect.poll(() => field.inputValue({ timeout: 5_000 })).toBe("");
    }
    // An input method uses keys itself while it composes characters.
    await field.fill("hist");
    for (const key of ["Escape", "Enter"])
      await field.dispatchEvent("keydown", { key, isComposing: true });
    expect(await field.inputValue()).toBe("hist");
    expect(new URL(page.url()).pathname).toBe("/console/");
    await page.keyboard.press("Escape");
    await expect.poll(() => field.count()).toBe(0);
  });

  test("requests the data of every page once, while its scripts are loading", async () => {
    const page = await console.open("settings");
    await page.locator(".check input").check();
    await signIn(page);
    // Late replies to the page before the reload would count, too.
    await page.locator("#setting-site_title").waitFor();
    const pending: Route[] = [];
    await page.route("**/assets/shared-*.js", (route) => void pending.push(route));
    const answered: string[] = [];
    page.on("response", (reply) => answered.push(new URL(reply.url()).pathname));
    const times = (rpc: string) => answered.filter((path) => path.endsWith(`/${rpc}`)).length;
    await page.reload({ waitUntil: "commit" });
    await expect
      .poll(() => [times("WhoAmI"), times("ListSettings"), pending.length])
      .toEqual([1, 1, 1]);
    expect(await page.locator("main").count()).toBe(0);
    await pending[0]?.continue();
    await page.locator("#setting-site_title").waitFor();
    await expect.poll(() => times("WatchSettings")).toBe(1);
    expect([times("WhoAmI"), times("ListSettings")]).toEqual([1, 1]);
  });

  test("has no page for an unknown address", async () => {
    const page = await console.enter("nowhere");
    await page.getByText("This page does not exist.").waitFor();
  });
});

describe("a page that opens", () => {
  test("has the focus on its heading when it appears, and takes it from no field afterwards", async () => {
    const page = await console.enter("settings");
    await page.evaluate(`
      globalThis.focusedAtOnce = [];
      new MutationObserver((records) => {
        for (const { addedNodes } of records)
          for (const node of addedNodes) {
            const heading = node.querySelector?.("h1") ?? (node.matches?.("h1") ? node : null);
            if (heading?.isConnected) focusedAtOnce.push([heading.innerText, document.activeElement === heading]);
          }
      }).observe(document.body, { childList: true, subtree: true });`);
    await page.getByRole("link", { name: "Tokens" }).first().click();
    await page.getByRole("link", { name: "New token" }).click();
    await page.getByRole("heading", { name: "New token" }).waitFor();
    const seen = await page.evaluate<[string, boolean][]>("focusedAtOnce");
    expect(seen.at(-1)).toEqual(["New token", true]);
    expect(seen.filter(([, isFocused]) => !isFocused)).toEqual([]);
  });
});
