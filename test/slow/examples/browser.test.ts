import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { launchBrowser, needsBrowser } from "../../browser.ts";
import { startService, TOKEN } from "../../wire/service.ts";

/** The example's page with its program, bundled. */
async function startPage(): Promise<string> {
  await using bundle = await rolldown({
    input: "examples/browser/page.ts",
    platform: "browser",
    logLevel: "silent",
  });
  const { output } = await bundle.generate();
  const html = readFileSync("examples/browser/index.html");
  const server = createServer(({ url = "" }, response) => {
    const script = output.find(({ fileName }) => `/${fileName}` === url);
    if (script === undefined) response.setHeader("content-type", "text/html").end(html);
    else if (script.type === "chunk")
      response.setHeader("content-type", "text/javascript").end(script.code);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("the browser's example compiles", () => {
  const args = ["-p", "examples/browser/tsconfig.json"];
  const { status, stdout } = spawnSync("tsc", args, { encoding: "utf8" });
  expect(status, stdout).toBe(0);
});

test("the browser's example reads, saves, is refused and watches", async (context) => {
  needsBrowser()(context);
  const service = await startService();
  onTestFinished(service.stop);
  const page = await startPage();
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const tab = await browser.newPage();
  const at = new URLSearchParams({ url: `http://127.0.0.1:${service.port}`, token: TOKEN });
  await tab.goto(`${page}/#${at}`);
  await tab.waitForFunction("document.body.textContent.includes('changed at')");
  const text = String(await tab.evaluate("document.body.textContent"));
  expect(text).toMatch(/title: OpenList/);
  expect(text).toMatch(/saved at revision: \d+/);
  expect(text).toMatch(/refused: settings\[0\]\.value/);
  expect(text).toMatch(/changed at revision: \d+ site_title/);
}, 60_000);
