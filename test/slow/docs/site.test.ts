import { readFileSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { BrowserContextOptions, Page } from "playwright-core";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { readBuiltIn } from "../../../src/drivers/built-in.ts";
import { itemsOf } from "../../../src/drivers/driver-info.ts";
import { loadSettingDefinitions } from "../../../src/settings/definition-file.ts";
import { slugOf } from "../../../tools/site/pages.ts";
import { launchBrowser, needsBrowser, newContext } from "../../browser.ts";
import { builtSite } from "../../built-site.ts";
import { startedForAll } from "../../started.ts";
import { startService } from "../../wire/service.ts";
import { startFront } from "../../wire/upstream.ts";

let folder: string;
let files: ReadonlySet<string>;
const service = startedForAll(startService);

beforeAll(async () => {
  folder = await builtSite();
  files = new Set(
    Object.keys(JSON.parse(readFileSync(join(folder, "site.json"), "utf8")).files as object),
  );
});

const htmlOf = (file: string): string =>
  brotliDecompressSync(readFileSync(join(folder, `${file}.br`))).toString("utf8");
const pages = (): string[] => [...files].filter((file) => file.endsWith(".html"));
const LANGUAGE_FOLDERS = ["", "zh-CN/"];

test.each(LANGUAGE_FOLDERS)("%s: each driver has a page with all its items", (at) => {
  const { drivers } = readBuiltIn({ offer: "all" });
  expect(drivers.length).toBeGreaterThan(100);
  for (const driver of drivers) {
    const html = htmlOf(`${at}driver/${slugOf(driver.config.name)}.html`);
    for (const { name } of itemsOf(driver)) expect(html).toContain(`<code>${name}</code>`);
  }
});

test.each(LANGUAGE_FOLDERS)("%s: each setting is on the page of one group", (at) => {
  const groups = pages().filter((page) => page.startsWith(`${at}setting/`));
  const html = groups
    .filter((page) => !page.endsWith("/index.html"))
    .map(htmlOf)
    .join("");
  for (const { key } of loadSettingDefinitions(undefined, "all"))
    expect(html.split(`<h3 id="${key}"`), key).toHaveLength(2);
});

test("each link leads to an existing page and heading", () => {
  const known = new Map(pages().map((page) => [page, htmlOf(page)]));
  const ids = new Map(
    [...known].map(([page, html]) => [
      page,
      new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id)),
    ]),
  );
  for (const [page, html] of known)
    for (const [, path = "", anchor = ""] of html.matchAll(
      /<a[^>]* href="\/docs\/([^"#]*)#?([^"]*)"/g,
    )) {
      // The REST reference, beside the site.
      if (path === "reference") continue;
      const file = path === "" || path.endsWith("/") ? `${path}index.html` : `${path}.html`;
      expect(known.has(file), `${page} links to ${path}`).toBe(true);
      if (anchor !== "")
        expect(ids.get(file)?.has(decodeURIComponent(anchor)), `${page}: ${path}#${anchor}`).toBe(
          true,
        );
    }
});

describe("in a browser", () => {
  beforeEach(needsBrowser());
  const browser = startedForAll(launchBrowser);

  /** A page that counts reports of the policy, errors, and requests to other hosts. */
  async function open(url: string, options: BrowserContextOptions = {}) {
    const context = await newContext(browser, options);
    onTestFinished(() => context.close());
    const page = await context.newPage();
    const faults: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(message.text());
    });
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("request", (request) => {
      const other = new URL(request.url());
      if (other.protocol !== "data:" && other.origin !== new URL(url).origin)
        faults.push(`request to ${request.url()}`);
    });
    await page.goto(url);
    await page.locator("html[lang]").waitFor();
    return { page, faults };
  }

  const at = (path: string): string => `http://127.0.0.1:${service.port}/docs/${path}`;

  /**
   * Types into the search and opens the first result with this fragment: earlier results stay for a
   * moment.
   */
  async function search(page: Page, words: string, fragment = words): Promise<void> {
    await page.keyboard.press("Control+k");
    await page.locator("#search").fill(words);
    await page.locator(`#results a[href$="#${fragment}"]`).first().click();
  }

  test.each([
    ["light", 1280],
    ["dark", 390],
  ] as const)(
    "pages of each kind are shown without a fault, %s, %d wide",
    async (colorScheme, width) => {
      const options = { colorScheme, viewport: { width, height: 800 } };
      for (const path of [
        "",
        "start",
        "decisions/",
        "driver/s3",
        "setting/site",
        "zh-CN/",
        "zh-CN/driver/s3",
      ]) {
        const { page, faults } = await open(at(path), options);
        await page.locator("main h1").first().waitFor();
        expect(
          await page.locator("html").evaluate(({ classList }) => classList.contains("dark")),
        ).toBe(colorScheme === "dark");
        const overflow = await page
          .locator("html")
          .evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
        expect([path, overflow, faults]).toEqual([path, 0, []]);
      }
    },
  );

  test("the search finds a setting and a driver, and opens other pages, without a fault", async () => {
    const { page, faults } = await open(at(""));
    await search(page, "default_page_size");
    await page.waitForURL("**/docs/setting/site#default_page_size");
    await search(page, "secret_access_key");
    await page.waitForURL("**/docs/**#secret_access_key");
    await page.goBack();
    expect(faults).toEqual([]);
  });

  test("Chinese words are found", async () => {
    const { page, faults } = await open(at("zh-CN/"));
    await search(page, "站点名称", "site_title");
    await page.waitForURL("**/docs/zh-CN/setting/site#site_title");
    expect(faults).toEqual([]);
  });

  test("language and appearance can be changed", async () => {
    const { page, faults } = await open(at("driver/s3"), { colorScheme: "light" });
    await page.getByRole("button", { name: "Light or dark" }).click();
    await page.locator("html.dark").waitFor();
    await page.getByRole("link", { name: "简体中文" }).first().click();
    await page.waitForURL("**/docs/zh-CN/driver/s3");
    await page.locator("html[lang=zh-CN].dark").waitFor();
    expect(faults).toEqual([]);
  });

  test("links lead to the REST reference of the service", async () => {
    const { page } = await open(at("start"));
    await page.locator("header").getByRole("link", { name: "REST reference" }).click();
    await page.waitForURL("**/reference");
    await page.getByText("/api/admin/setting/list").first().waitFor();
  });

  test("an unknown address has a 404 page", async () => {
    const { page } = await open(at("nothing"));
    await page.locator("main").getByText("404").waitFor();
  });

  test("the site works in front of a server, below its path", async () => {
    const front = await startFront();
    onTestFinished(() => front.stop());
    const { page, faults } = await open(`http://127.0.0.1:${front.service.port}/@mooring/docs/`);
    await search(page, "default_page_size");
    await page.waitForURL("**/@mooring/docs/setting/site#default_page_size");
    expect(faults).toEqual([]);
  });
});
