import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { browserFile, launchBrowser, needsBrowser } from "../../browser.ts";
import { TOKEN } from "../../wire/service.ts";
import { type FrontedSite, startFront } from "../../wire/upstream.ts";

let front: FrontedSite;
let browser: Browser | undefined;
let page: Page;

beforeEach(needsBrowser());

beforeAll(async () => {
  if (browserFile === undefined) return;
  front = await startFront();
  browser = await launchBrowser();
  page = await browser.newPage();
});

afterAll(async () => {
  await browser?.close();
  await front?.stop();
});

const notice = (text: string) =>
  page.waitForFunction(`document.getElementById("notice").textContent === ${JSON.stringify(text)}`);

async function login(password = "admin-password"): Promise<void> {
  await page.goto(`${front.url}/@manage/settings/site`);
  await page.fill("#password", password);
  await page.click("#login");
}

test("the site's own page works through the front: login, save, title, logout", async () => {
  await login("wrong");
  await notice("400 password is incorrect");
  await login();
  await notice("loaded");
  await page.fill("#key-site_title", "From the page");
  await page.click("#save");
  await notice("saved");
  expect(front.site.value("site_title")).toBe("From the page");
  await page.goto(`${front.url}/`);
  await page.waitForFunction('document.title === "From the page"');
});

test("a page that is open during another save reverts nothing", async () => {
  await login();
  await notice("loaded");
  const body = [{ key: "robots_txt", value: "saved elsewhere" }];
  await front.call("POST", "/api/admin/setting/save", { token: TOKEN, body });
  await page.fill("#key-site_title", "From a stale page");
  await page.click("#save");
  await page.waitForFunction(
    'document.getElementById("notice").textContent.startsWith("207 not saved: robots_txt. ")',
  );
  expect(front.site.value("site_title")).toBe("From a stale page");
  expect(front.site.value("robots_txt")).toBe("saved elsewhere");
});

test("after a logout the page is refused", async () => {
  await page.click("#logout");
  await notice("left");
  await page.click("#save");
  await notice("401 token is invalidated");
});
