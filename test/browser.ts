import { spawnSync } from "node:child_process";
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
} from "playwright-core";
import type { TestContext } from "vitest";
import { needs } from "./downloaders/program.ts";

/** Both are Chromium; without windows a page needs a quarter of the CPU time. */
const PROGRAMS = ["chromium-headless-shell", "chromium"];

/** A headless browser of one test. */
const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Chromium's file; undefined if it is not installed. */
export const browserFile: string | undefined = PROGRAMS.map((program) =>
  spawnSync("which", [program], { encoding: "utf8" }).stdout.trim(),
).find((file) => file !== "");

/** Like `needs` for other programs: skips the tests of a file or group without a browser. */
export const needsBrowser = (): ((context: TestContext) => void) =>
  browserFile === undefined ? needs("chromium") : () => undefined;

/** Starts a browser, which the caller closes. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: browserFile ?? "chromium", args: FLAGS });

/** Opens a context whose waits last as long as those of other tests: the machine may be busy. */
export async function newContext(
  browser: Browser,
  options?: BrowserContextOptions,
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(60_000);
  return context;
}
