// Creates the screenshots of the console in the documentation, with a separate service and a real
// browser: `npm run pictures`. Needs chromium.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const root = resolve(import.meta.dirname, "..");
const TOKEN = "picture-token-0123456789abcdefghijklmnop";
/** Locale to the file of its picture. */
const PICTURES = { "en-US": "docs/console.png", "zh-CN": "docs/console.zh-CN.png" };

const folder = mkdtempSync(join(tmpdir(), "mooring-pictures-"));
const env = {
  PATH: process.env["PATH"],
  MOORING_LISTEN: "127.0.0.1:0",
  MOORING_DATA_DIR: folder,
  MOORING_ADMIN_TOKEN: TOKEN,
};
const service = spawn(process.execPath, [join(root, "dist/src/main.js")], {
  env,
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const address = await addressOf(createInterface(service.stdout));
  await fill(address);
  const { stdout } = spawnSync("which", ["chromium"], { encoding: "utf8" });
  const args = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"];
  await using browser = await chromium.launch({ executablePath: stdout.trim(), args });
  for (const [locale, file] of Object.entries(PICTURES)) {
    const page = await browser.newPage({ locale, viewport: { width: 1200, height: 720 } });
    await page.goto(`http://${address}/console/settings`);
    await page.locator("#token").fill(TOKEN);
    await page.keyboard.press("Enter");
    await page.locator(".connection.live").first().waitFor();
    await page.locator("#setting-site_title").waitFor();
    await page.screenshot({ path: join(root, file), animations: "disabled" });
  }
} finally {
  service.kill("SIGTERM");
  rmSync(folder, { recursive: true, force: true });
}

async function addressOf(lines: AsyncIterable<string>): Promise<string> {
  for await (const line of lines) {
    const { listen } = JSON.parse(line);
    if (listen !== undefined) return listen;
  }
  throw new Error("the service has ended");
}

/** Saves settings that differ from the defaults. */
async function fill(address: string): Promise<void> {
  await fetch(`http://${address}/api/admin/setting/save`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: '[{"key":"site_title","value":"Harbour"},{"key":"default_page_size","value":"50"}]',
  });
}
