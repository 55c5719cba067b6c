import { spawn } from "node:child_process";
import { once } from "node:events";
import { utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { testFolder } from "../../process/mooring.ts";

const ROOT = join(import.meta.dirname, "../../..");
const SOON = { timeout: 40_000, interval: 100 };

test("CONTRIBUTING.md: npm run dev serves the source and restarts when it changes", {
  timeout: 120_000,
}, async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const own = Object.entries(process.env).filter(([name]) => !name.startsWith("MOORING_"));
  const child = spawn("npm", ["run", "dev"], {
    cwd: ROOT,
    env: {
      ...Object.fromEntries(own),
      MOORING_LISTEN: address,
      MOORING_DATA_DIR: await testFolder(),
      MOORING_LOG_FORMAT: "json",
    },
    stdio: ["ignore", "pipe", "ignore"],
    // A process group of its own: its children end with it.
    detached: true,
  });
  const ended = once(child, "exit");
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null)
      process.kill(-(child.pid ?? 0), "SIGKILL");
    await ended;
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  const started = (): number => output.match(/"msg":"serving"/g)?.length ?? 0;
  await expect.poll(started, SOON).toBe(1);
  expect((await fetch(`http://${address}/ping`)).status).toBe(200);
  await expect.poll(() => output, SOON).toContain("the console, from its source");
  const [, page = ""] = /from its source: (\S+)/.exec(output) ?? [];
  expect((await fetch(page)).status).toBe(200);
  const now = new Date();
  utimesSync(join(ROOT, "src/app/version.ts"), now, now);
  await expect.poll(started, SOON).toBe(2);
});
