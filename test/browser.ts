import { spawnSync } from "node:child_process";
import { type Browser, chromium } from "playwright-core";
import type { TestContext } from "vitest";
import { needs } from "./downloaders/program.ts";

/** The same engine; without windows a page takes a quarter of the processor's time. */
const PROGRAMS = ["chromium-headless-shell", "chromium"];

/** A headless browser that connects to the test alone. */
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

/** Chromium's file; undefined where it is not installed. */
export const browserFile: string | undefined = PROGRAMS.map((program) =>
  spawnSync("which", [program], { encoding: "utf8" }).stdout.trim(),
).find((file) => file !== "");

/** As `needs` does it for other programs: skips the tests of a file or group without a browser. */
export const needsBrowser = (): ((context: TestContext) => void) =>
  browserFile === undefined ? needs("chromium") : () => undefined;

/** Starts it. To be closed by who starts it. */
export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({ executablePath: browserFile ?? "chromium", args: FLAGS });
