import SQLite from "better-sqlite3";
import type { Page } from "playwright-core";
import { beforeAll, expect, test, vi } from "vitest";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { AXE, faultsBy } from "./axe.ts";
import { consoleTest, tabTo, visit } from "./console.ts";

const console = consoleTest();

const DAY = 86_400_000;
const HOUR = 3_600_000;
const today = Math.floor(Date.now() / DAY);
/** The day before yesterday, on which /films failed for two hours and the site for one. */
const BAD = today - 2;
/** Incidents of /films on that day, more than a page of the list has. */
const FAILURES = 61;
const dateOf = (day: number): string => new Date(day * DAY).toISOString().slice(0, 10);

const site = startedForAll(startStandIn);

beforeAll(async () => {
  site.mounts.push(
    ...["/films", "/music", "/photos"].map((path, at) => ({
      id: at + 1,
      mount_path: path,
      driver: "Local",
      status: path === "/photos" ? "the folder is gone" : "work",
      disabled: false,
      addition: "{}",
    })),
  );
  await console.addSite(site);
  await console.mounts.saveMounts({
    mounts: [{ name: "films", mountPath: "/films", driver: "Local", sites: { all: true } }],
  });
  await vi.waitFor(
    async () => expect((await console.incidents.listDays({})).strips).toHaveLength(4),
    {
      timeout: 60_000,
    },
  );
  await console.stop();
  seed(console.database());
  await console.start();
}, 180_000);

/** Adds 20 days in which Mooring has monitored the site for 20 hours each. */
function seed(file: string): void {
  const database = new SQLite(file);
  const { id } = database.prepare("select id from site").get() as { id: string };
  const siteDay = database.prepare(
    "insert into site_day (site_id, day, worked, failed, counted_to, reason) values (?, ?, ?, ?, ?, ?)",
  );
  for (let day = today - 20; day < today; day += 1) {
    const failed = day === BAD ? HOUR : 0;
    const reason = failed > 0 ? "the site does not answer" : "";
    siteDay.run(id, day, 20 * HOUR - failed, failed, (day + 1) * DAY, reason);
  }
  database.prepare("update mount_span set first_day = ?, first_at = 0").run(today - 20);
  database
    .prepare(
      "insert into mount_day (site_id, path, day, failed, unmonitored, reason) values (?, ?, ?, ?, ?, ?)",
    )
    .run(id, "/films", BAD, 2 * HOUR, 0, "login failed: 401");
  const incident = database.prepare(
    `insert into incident (id, subject, name, site_id, mount_path, driver, class, source, message,
       opened_at, changed_at, closed_at, acknowledged_at, acknowledged_by, note, signals)
     values (?, ?, '', ?, ?, 'Local', ?, ?, ?, ?, ?, ?, 0, '', '', '{}')`,
  );
  const from = BAD * DAY + 3 * HOUR;
  const to = from + 2 * HOUR;
  for (let at = 0; at < FAILURES; at += 1)
    incident.run(
      `a${at}`,
      "mount",
      id,
      "/films",
      "credential",
      "status",
      "login failed: 401",
      from,
      from,
      to,
    );
  incident.run("bb", "site", id, "", "network", "contact", "no answer", from, from, from + HOUR);
  database.close();
}

const strips = (page: Page) => page.getByRole("toolbar");

test("the overview shows the days of sites and of mounts that have failed, with their incidents", async () => {
  const page = await console.enter("");
  const harbour = page.getByRole("toolbar", { name: "harbour: last 30 days", exact: true });
  await harbour.waitFor();
  expect(await harbour.getByRole("button").count()).toBe(30);
  const films = page.getByRole("toolbar", { name: "harbour /films: last 30 days" });
  const photos = page.getByRole("toolbar", { name: "harbour /photos: last 30 days" });
  await Promise.all([films.waitFor(), photos.waitFor()]);
  expect(await strips(page).count()).toBe(3);
  expect(await page.locator(".strips li", { hasText: "/films" }).innerText()).toContain(
    "failed for 2 hr",
  );
  const bad = films.getByRole("button").nth(27);
  expect(await bad.getAttribute("title")).toMatch(
    /: failed 2 hr, worked 17 hr, not monitored 5 hr\nlogin failed: 401$/,
  );
  expect(await bad.getAttribute("aria-label")).toBe(await bad.getAttribute("title"));
  expect(await films.getByRole("button").first().getAttribute("title")).toMatch(/: not monitored$/);
  await bad.click();
  const dialog = page.getByRole("dialog");
  await dialog.locator(".day-incidents li").first().waitFor();
  expect(await dialog.locator(".day-incidents li").count()).toBe(FAILURES);
  expect(await dialog.innerText()).toMatch(
    /harbour \/films on .* \(UTC\).*login failed: 401.* to /s,
  );
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await harbour.getByRole("button").nth(27).click();
  await dialog.getByText("no answer", { exact: true }).waitFor();
  expect(await dialog.locator(".day-incidents li").count()).toBe(1);
});

test("days are reached by the keyboard: one stop for a strip, arrows between its days", async () => {
  const page = await console.enter("");
  await strips(page).first().waitFor();
  await tabTo(page, new RegExp(`^${yearOf(today)}|.*: .*(worked|monitored)`));
  const focused = () =>
    page.evaluate<number>(
      "[...document.activeElement.parentElement.children].indexOf(document.activeElement)",
    );
  expect(await focused()).toBe(29);
  await page.keyboard.press("ArrowRight");
  expect(await focused()).toBe(29);
  for (const [key, at] of [
    ["ArrowLeft", 28],
    ["ArrowLeft", 27],
    ["Home", 0],
    ["End", 29],
    ["ArrowLeft", 28],
  ] as const) {
    await page.keyboard.press(key);
    expect(await focused()).toBe(at);
  }
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByText("No incident of this day is kept.").waitFor();
  await page.keyboard.press("Escape");
  await expect.poll(focused).toBe(28);
  await page.keyboard.press("Tab");
  expect(await page.evaluate("document.activeElement.closest('.strips li').innerText")).toContain(
    "/",
  );
});

function yearOf(day: number): string {
  return dateOf(day).slice(0, 4);
}

test("the pages of mounts and of a site show their days", async () => {
  const page = await console.enter("mounts");
  await page.getByText("Last 30 days of all mounts").click();
  await expect.poll(() => strips(page).count()).toBe(3);
  await visit(page, "mount?name=films");
  await page.getByRole("toolbar", { name: "harbour /films: last 30 days" }).waitFor();
  await visit(page, "sites?name=harbour");
  await page.getByRole("toolbar", { name: "harbour: last 30 days" }).waitFor();
});

test("a token without the right to incidents sees no days", async () => {
  const token = await console.token(["sites:read", "settings:read", "history:read"]);
  const page = await console.enter("", { token });
  await page.locator(".revision").first().waitFor();
  expect(await strips(page).count()).toBe(0);
});

test.each([
  ["en", "light", 390],
  ["en", "dark", 1280],
  ["zh-CN", "dark", 390],
  ["zh-CN", "light", 1280],
] as const)(
  "in %s, %s and %i px wide they fit, and axe finds no fault",
  async (locale, colorScheme, width) => {
    const viewport = { width, height: 900 };
    const page = await console.enter("", {
      locale,
      colorScheme,
      viewport,
      reducedMotion: "reduce",
    });
    await strips(page).nth(2).waitFor();
    await page.evaluate(AXE);
    const faults = () => page.evaluate<string[]>(faultsBy());
    expect(await faults()).toEqual([]);
    const shot = process.env["MOORING_TEST_PICTURES"];
    if (shot !== undefined)
      await page.screenshot({
        path: `${shot}/days-${locale}-${colorScheme}-${width}.png`,
        fullPage: true,
      });
    // A finger needs 24 px (WCAG 2.2, 2.5.8).
    const sizes = await strips(page)
      .first()
      .getByRole("button")
      .evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().width));
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(24);
    await strips(page).nth(1).getByRole("button").nth(27).click();
    await page.locator("dialog .day-incidents li").first().waitFor();
    expect(await faults()).toEqual([]);
    if (shot !== undefined)
      await page.screenshot({ path: `${shot}/day-${locale}-${colorScheme}-${width}.png` });
  },
);
