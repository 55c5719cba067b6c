import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PrincipalKind } from "../../../gen/mooring/v1/access_pb.js";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";
import { ageTokens } from "./age.ts";
import { AXE, faultsBy } from "./axe.ts";
import { consoleTest, signIn, visit } from "./console.ts";
import { states } from "./look-states.ts";

const console = consoleTest();

const SCREENSHOTS = join(import.meta.dirname, "screenshots");

interface Look {
  readonly width: 360 | 1280;
  readonly theme: "light" | "dark";
  /** Rules of axe that are checked; default: all. */
  readonly rules?: readonly string[];
  readonly isPictured?: boolean;
}

/**
 * Looks at each state of each page, in order. A width decides which elements exist: every rule is
 * checked at each. Themes differ only in colours, and colours are the same in all languages; a
 * language changes words, and thus widths.
 */
const looks: readonly (readonly [string, readonly Look[]])[] = [
  [
    "en",
    [
      { width: 360, theme: "light" },
      { width: 360, theme: "dark", rules: ["color-contrast"], isPictured: true },
      { width: 1280, theme: "dark" },
      { width: 1280, theme: "light", rules: ["color-contrast"], isPictured: true },
    ],
  ],
  [
    "zh-CN",
    [
      { width: 360, theme: "light", isPictured: true },
      { width: 1280, theme: "dark", rules: [], isPictured: true },
    ],
  ],
];

const changeTitle = (value: string) => console.change("site_title", value);

const sites: StandIn[] = [];
afterAll(() => Promise.all(sites.map((site) => site.stop())));

beforeAll(async () => {
  mkdirSync(SCREENSHOTS, { recursive: true });
  const long = "https://example.org/".concat("a-path-that-is-long/".repeat(12));
  const saves = [
    { settings: [{ key: "site_title", value: "Harbour" }], reason: "A name of our own" },
    { settings: [{ key: "announcement", value: "Welcome.\nClosed on Monday.\nAsk at the desk." }] },
    {
      settings: [
        { key: "audio_cover", value: long },
        { key: "aria2_secret", value: "hush" },
      ],
    },
    {
      settings: [
        { key: "custom_with_a_key_that_is_rather_long_".concat("x".repeat(60)), value: "1" },
      ],
    },
  ];
  for (const save of saves) await console.settings.saveSettings(save);
  await console.access.createToken({
    principal: "nightly",
    scopes: ["backup:export", "settings:reveal"],
    comment: "The backup script on the machine in the cellar, which nobody has seen since. ".repeat(
      2,
    ),
    expireTime: { seconds: BigInt(Math.round(Date.now() / 1_000) + 86_400) },
  });
  await console.access.createPrincipal({ name: "anna", kind: PrincipalKind.PERSON });
  await console.access.createToken({
    principal: "anna",
    scopes: ["settings:write", "history:rollback"],
    limits: ["key:s3_*", "group:9"],
    neverExpires: true,
  });
  for (const name of [
    "harbour",
    "a-server-with-a-name-of-64-letters-that-is-in-the-cellar-at-home",
  ]) {
    const site = await startStandIn();
    sites.push(site);
    await console.addSite(site, name);
  }
  const paths = [
    "films",
    ...Array.from({ length: 30 }, (_, at) => `folder-${at}-${"x".repeat(at)}`),
  ];
  await console.mounts.saveMounts({
    mounts: paths.map((name) => ({
      name,
      mountPath: `/${name}`,
      driver: "Local",
      sites: { all: true },
      config: { root_folder_path: `/srv/${name}` },
    })),
  });
  await console.rules.saveRules({
    rules: paths.map((name) => ({
      path: `/${name}`,
      hide: "\\.tmp$",
      password: "closed",
      sites: { all: true },
    })),
  });
  // The first of them expires soon.
  await ageTokens(console, 60);
});

/** Each further language takes as long again: `MOORING_TEST_LANGUAGES=all` includes them. */
const asked = process.env["MOORING_TEST_LANGUAGES"] === "all" ? looks : looks.slice(0, 1);

describe.each(asked)("in %s, light and dark, narrow and wide", (locale, views) => {
  /** @returns the faults of the current page in every look. */
  async function look(page: Page, name: string): Promise<string[]> {
    const faults: string[] = [];
    // Not as an element: the policy allows no foreign script.
    await page.evaluate(AXE);
    for (const { width, theme, rules, isPictured } of views) {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: theme });
      const found = await page.evaluate<string[]>(faultsBy(rules));
      faults.push(...found.map((fault) => `${name}, ${theme}, ${width} px: ${fault}`));
      if (isPictured !== true) continue;
      const path = join(SCREENSHOTS, `${name}-${locale}-${width}-${theme}.png`);
      await page.screenshot({ path, animations: "disabled" });
    }
    return faults;
  }

  test("no page has a fault found by axe, and none is wider than its screen", async () => {
    const page = await console.open("", { locale, reducedMotion: "reduce" });
    await page.locator("#token").waitFor();
    const faults = await look(page, "sign-in");
    await page.locator(".check input").check();
    await signIn(page);
    let touched = false;
    for (const { name, address, ready, act } of states) {
      // Controls for touch exist only when narrow; the rest is the same when wide.
      await page.setViewportSize({ width: 360, height: 800 });
      // A page change drops the state; without changes, a step is sufficient.
      if (touched) await page.goto(`${console.origin}/console/${address}`);
      else await visit(page, address);
      touched = act !== undefined;
      await page.locator(ready).first().waitFor();
      await act?.(page, changeTitle);
      faults.push(...(await look(page, name)));
      // Edits would prompt before the next page.
      await page.evaluate("window.onbeforeunload = null");
      await page.evaluate('sessionStorage.removeItem("mooring.kept")');
    }
    // As a user with few rights.
    await page.goto(`${console.origin}/console/`);
    await page
      .locator('[aria-label="Sign out"], [aria-label="退出登录"]')
      .locator("visible=true")
      .click();
    await signIn(page, await console.token(["drivers:read"], "guest"));
    for (const [name, address] of [
      ["own-token", ""],
      ["no-right", "history"],
    ] as const) {
      await visit(page, address);
      faults.push(...(await look(page, name)));
    }
    expect(faults).toEqual([]);
  }, 600_000);
});
