import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { type Browser, chromium, type Page } from "playwright-core";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { callMethod } from "../call.ts";
import { type Experiment, type Lab, limited, type Verdict } from "../experiment.ts";
import { addCustomSettings, type Mooring, startMooring } from "../mooring.ts";
import { executableOf } from "../program.ts";
import { LOAD_CORE, SERVER_CORE } from "../stage.ts";
import { median } from "../statistics.ts";
import { weighConsole } from "./console-weight.ts";

/** Slow phone: a processor four times slower than this one, and 1.6 Mbit/s with latency. */
const SLOW = { cpu: 4, bytesPerSecond: 200_000, latencyMs: 40 } as const;
/** Number of custom settings in the filtered list. */
const MANY = 1_000;
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"];

/** The console in a browser: loaded bytes, time until usable, and delay of updates. */
export const consoleInBrowser: Experiment = {
  name: "console",
  title: "The console in Chromium",
  needs: ["chromium"],
  measure: async (lab) => {
    const executablePath = onAllCores(lab, executableOf("chromium", process.env["PATH"] ?? ""));
    const browser = await chromium.launch({ executablePath, args: FLAGS });
    try {
      const mooring = await startMooring(lab);
      const weight = await weighConsole(browser, {
        origin: addressOf(mooring),
        token: mooring.token,
      });
      const usable = await repeated(lab, () => usableAfter(browser, mooring));
      await addCustomSettings(mooring, MANY);
      const page = await signedIn(browser, mooring, "settings");
      const filtered = await filterTimes(page);
      const seen = await repeated(lab, (round) => seenAfter(page, mooring, round));
      await page.context().close();
      const heaviest = Math.max(...Object.values(weight.pages));
      const verdicts: Verdict[] = [
        limited("first load, gzip", weight.first / 1e3, " KB", 90),
        limited("scripts of it", weight.scripts / 1e3, " KB", 75),
        limited("the heaviest further page", heaviest / 1e3, " KB", 30),
        limited("usable on a slow phone", median(usable), " ms", 1_500),
        limited(`from a key press to the list, ${MANY} settings`, median(filtered), " ms", 50),
        limited("another client's change is shown", median(seen), " ms", 250),
      ];
      return {
        load: `one page in a browser without a screen; slow phone: processor ${SLOW.cpu} times slower, 1.6 Mbit/s, ${SLOW.latencyMs} ms; usable: the settings can be edited, from the address on`,
        columns: ["", "median", "highest"],
        rows: [
          ["usable on a slow phone", ...millis(usable)],
          ["key press to filtered list", ...millis(filtered)],
          ["another client's change is shown", ...millis(seen)],
        ],
        verdicts,
        figures: { weight, usable, filtered, seen },
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
function onAllCores(lab: Lab, program: string | undefined): string {
  const path = join(lab.stage.folder(), "browser");
  const cores = `${SERVER_CORE},${LOAD_CORE}`;
  writeFileSync(path, `#!/bin/sh\nexec taskset -c ${cores} ${program} "$@"\n`, { mode: 0o700 });
  return path;
}

function millis(times: readonly number[]): [string, string] {
  return [`${median(times).toFixed(0)} ms`, `${Math.max(...times).toFixed(0)} ms`];
}

async function repeated(lab: Lab, measure: (round: number) => Promise<number>): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < (lab.quick ? 3 : 11); round += 1) times.push(await measure(round));
  return times;
}

/** Time from the navigation until the first setting can be edited, with an empty cache. */
async function usableAfter(browser: Browser, mooring: Mooring): Promise<number> {
  const page = await browser.newPage();
  await keepToken(page, mooring);
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
  await page.goto(`${addressOf(mooring)}/console/settings`);
  const time = await page.evaluate<number>("globalThis.usable");
  await page.context().close();
  return time;
}

/** Times from key presses until the list is painted. */
async function filterTimes(page: Page): Promise<number[]> {
  await page.locator("#setting-site_title").waitFor();
  return page.evaluate<number[]>(`(async () => {
    const field = document.querySelector("input[type=search]");
    const times = [];
    for (const text of ["b", "be", "ben", "bench", "bench 7", "bench 77", "", "s", "si", "site", "t", "to"]) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      const pressed = performance.now();
      field.value = text;
      field.dispatchEvent(new InputEvent("input", { bubbles: true }));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      times.push(performance.now() - pressed);
    }
    field.value = "";
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    return times;
  })()`);
}

/** Time from the save of another client until the value is shown. */
async function seenAfter(page: Page, mooring: Mooring, round: number): Promise<number> {
  const value = `Seen in round ${round}`;
  const seen = page.evaluate<number>(
    `new Promise((resolve) => {
      const look = () => {
        const field = document.querySelector("#setting-site_title");
        if (field?.value === ${JSON.stringify(value)}) resolve(Date.now());
        else requestAnimationFrame(look);
      };
      look();
    })`,
  );
  const request = create(SaveSettingsRequestSchema, { settings: [{ key: "site_title", value }] });
  const began = Date.now();
  await callMethod(SettingService.method.saveSettings, request, mooring);
  return (await seen) - began;
}

async function signedIn(browser: Browser, mooring: Mooring, name: string): Promise<Page> {
  const page = await browser.newPage();
  await keepToken(page, mooring);
  await page.goto(`${addressOf(mooring)}/console/${name}`);
  return page;
}

/** Signs in with a token that is kept in the tab. */
async function keepToken(page: Page, { token }: Mooring): Promise<void> {
  await page.addInitScript(`sessionStorage.setItem("mooring.token", ${JSON.stringify(token)})`);
}

function addressOf({ port }: Mooring): string {
  return `http://127.0.0.1:${port}`;
}
