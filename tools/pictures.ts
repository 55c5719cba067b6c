// Creates the screenshots of the console in the documentation, with a separate service and a real
// browser: `npm run pictures`. Needs chromium.
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { callAdmin, makePackage, startMooring } from "../bench/mooring.ts";
import { installHint, pathOfProgram } from "../bench/program.ts";
import { createRunStage } from "../bench/stage.ts";

const root = resolve(import.meta.dirname, "..");
/** Locale to the file of its picture. */
const PICTURES = { "en-US": "docs/console.png", "zh-CN": "docs/console.zh-CN.png" };
/** Settings that differ from the defaults. */
const SETTINGS = [
  { key: "site_title", value: "Harbour" },
  { key: "default_page_size", value: "50" },
];

const executablePath = pathOfProgram("chromium");
if (executablePath === undefined) throw new Error(installHint("chromium"));
const stage = createRunStage();
try {
  const mooring = await startMooring({ stage, server: await makePackage(stage) });
  await callAdmin(mooring, "/api/admin/setting/save", SETTINGS);
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  await using browser = await chromium.launch({ executablePath, args });
  for (const [locale, file] of Object.entries(PICTURES)) {
    const page = await browser.newPage({ locale, viewport: { width: 1200, height: 720 } });
    await page.goto(`http://127.0.0.1:${mooring.port}/console/settings`);
    await page.locator("#token").fill(mooring.token);
    await page.keyboard.press("Enter");
    await page.locator(".connection.live").first().waitFor();
    await page.locator("#setting-site_title").waitFor();
    await page.screenshot({ path: join(root, file), animations: "disabled" });
  }
} finally {
  await stage.close();
}
