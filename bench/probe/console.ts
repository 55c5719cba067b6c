import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { type Experiment, type Lab, verdictOf } from "../experiment.ts";
import { type Mooring, startMooring } from "../mooring.ts";
import { pathOfProgram } from "../program.ts";
import { decimal } from "../report.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median } from "../statistics.ts";

/** Slow phone: a processor four times slower than this one, and 1.6 Mbit/s with latency. */
const SLOW = { cpu: 4, bytesPerSecond: 200_000, latencyMs: 40 } as const;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

/** Time until the console is usable in a browser. */
export const consoleInBrowser: Experiment = {
  name: "console",
  title: "The console in Chromium",
  needs: ["chromium"],
  measure: async (lab) => {
    const browser = await chromium.launch({ executablePath: onAllCores(lab), args: FLAGS });
    try {
      const mooring = await startMooring(lab);
      const times: number[] = [];
      for (let time = 0; time < lab.plan.times; time += 1)
        times.push(await usableAfter(browser, mooring));
      return {
        load: `a page in a browser without a screen; slow phone: processor ${SLOW.cpu} times slower, 1.6 Mbit/s, ${SLOW.latencyMs} ms; usable: the settings can be edited, from the address on`,
        columns: ["", "median ms", "most ms"],
        rows: [["usable on a slow phone", decimal(median(times)), decimal(Math.max(...times))]],
        verdicts: [verdictOf("usable on a slow phone", times, " ms", { atMost: 1_500 })],
      };
    } finally {
      await browser.close();
    }
  },
};

/**
 * The browser has many processes, and throttling a page keeps a processor busy: on a processor
 * shared with others, the slowdown would far exceed the factor of four. The server is nearly idle
 * meanwhile.
 *
 * @returns the path of a program that starts the browser on all processors, independent of those
 *   of the bench.
 */
function onAllCores(lab: Lab): string {
  const path = join(lab.stage.folder(), "browser");
  const cores = `${SERVER_CORE},${LOAD_CORE}`;
  const command = `exec taskset -c ${cores} ${pathOfProgram("chromium")} "$@"`;
  writeFileSync(path, `#!/bin/sh\n${command}\n`, { mode: 0o700 });
  return path;
}

/** Time from the navigation until the first setting can be edited, with an empty cache. */
async function usableAfter(browser: Browser, { port, token }: Mooring): Promise<number> {
  const page = await browser.newPage();
  await page.addInitScript(`sessionStorage.setItem("mooring.token", ${JSON.stringify(token)})`);
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: SLOW.cpu });
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    latency: SLOW.latencyMs,
    downloadThroughput: SLOW.bytesPerSecond,
    uploadThroughput: SLOW.bytesPerSecond,
  });
  await page.addInitScript(
    `globalThis.usable = new Promise((resolve) => {
      new MutationObserver((_, observer) => {
        if (document.querySelector("#setting-site_title") === null) return;
        observer.disconnect();
        requestAnimationFrame(() => resolve(performance.now()));
      }).observe(document, { childList: true, subtree: true });
    })`,
  );
  await page.goto(`http://127.0.0.1:${port}/console/settings`);
  const time = await page.evaluate<number>("globalThis.usable");
  await page.context().close();
  return time;
}
