import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { browserFile, launchBrowser, needsBrowser, newContext } from "../../browser.ts";
import { builtProgram } from "../../built.ts";
import { type Clients, clientsOver, give } from "../../wire/access-client.ts";
import { type RunningProgram, runProgram } from "./program.ts";

export const TOKEN = "console-test-token-0123456789abcdefghijkl";

/** Parts of one test: a real service with clients of its admin token, and pages in a real browser. */
export interface ConsoleTest extends Clients {
  /** Address of the service, such as `http://127.0.0.1:5244`. */
  readonly origin: string;
  /** Saves a setting. @returns the revision. */
  change(key: string, value: string, reason?: string): Promise<bigint>;
  /** The stored value of a setting. */
  saved(key: string): Promise<string | undefined>;
  /** Adds a server as a site. */
  addSite(site: { readonly url: string; token(): string }, name?: string): Promise<unknown>;
  /** Creates a token with these scopes. */
  token(scopes: readonly string[], principal?: string, limits?: readonly string[]): Promise<string>;
  readonly browser: Browser;
  /** The database file, for use while the service is stopped. */
  database(): string;
  /** Opens a page of the console in a new browser, without signing in. */
  open(address: string, options?: BrowserContextOptions): Promise<Page>;
  /** Opens a page of the console and signs in. */
  enter(address: string, options?: BrowserContextOptions & { token?: string }): Promise<Page>;
  /** Ends the service with a signal, and starts it again on the same port and database. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export interface ConsoleTestOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Further variables that are known only when the tests begin. */
  readonly prepare?: () => Promise<Readonly<Record<string, string>>>;
  /** Path of the console; default `/console/`. */
  readonly folder?: string;
}

/**
 * A service with its own database for the tests of a file or group, and a browser. After each test
 * its pages are closed; a report of the security policy, a request to another origin or an error in
 * a script fails the test.
 */
export function consoleTest(options: ConsoleTestOptions = {}): ConsoleTest {
  const skip = needsBrowser();
  // A browser on a busy machine.
  vi.setConfig({ testTimeout: 120_000, hookTimeout: 180_000 });
  const pages: Page[] = [];
  const offences: string[] = [];
  let browser: Browser | undefined;
  let program: RunningProgram | undefined;
  let folder = "";
  let main = "";
  let port = 0;

  let prepared: Readonly<Record<string, string>> = {};
  const start = async (): Promise<void> => {
    program = await runProgram(main, {
      MOORING_LISTEN: `127.0.0.1:${port}`,
      MOORING_DATA_DIR: folder,
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_SHUTDOWN_GRACE: "1s",
      ...options.env,
      ...prepared,
    });
  };
  const stop = async (): Promise<void> => {
    await program?.stop();
    program = undefined;
  };

  beforeEach(skip);
  beforeAll(async () => {
    if (browserFile === undefined) return;
    main = await builtProgram();
    folder = await mkdtemp(join(tmpdir(), "mooring-console-"));
    port = await freePort();
    prepared = (await options.prepare?.()) ?? {};
    await start();
    browser = await launchBrowser();
  });
  afterEach(async () => {
    await Promise.all(pages.splice(0).map((page) => page.context().close()));
    expect(offences.splice(0)).toEqual([]);
  });
  afterAll(async () => {
    await browser?.close();
    await stop();
    if (folder !== "") await rm(folder, { recursive: true, force: true });
  });

  const origin = (): string => `http://127.0.0.1:${port}`;
  const running = (): Browser => {
    if (browser === undefined) throw new Error("no browser runs");
    return browser;
  };
  const open = async (address: string, context: BrowserContextOptions = {}): Promise<Page> => {
    const page = await (await newContext(running(), context)).newPage();
    pages.push(page);
    await watchOver(page, origin(), offences);
    await page.goto(`${origin()}${options.folder ?? "/console/"}${address}`);
    return page;
  };
  const clients = clientsOver(transportTo(origin));
  return {
    ...clients,
    get origin() {
      return origin();
    },
    change: async (key, value, reason = "") =>
      (await clients.settings.saveSettings({ settings: [{ key, value }], reason })).revision,
    saved: async (key) => (await clients.settings.getSetting({ key })).setting?.value,
    addSite: ({ url, token }, name = "harbour") =>
      clients.sites.createSite({ site: { name, url, token: token() } }),
    token: async (scopes, principal = "somebody", limits = []) =>
      (await give(clients, scopes, limits, principal)).text,
    get browser() {
      return running();
    },
    database: () => join(folder, "mooring.db"),
    open,
    enter: async (address, { token, ...context } = {}) => {
      const page = await open(address, context);
      await signIn(page, token);
      return page;
    },
    stop,
    start,
  };
}

/** Types the token and waits for the settings. */
export async function signIn(page: Page, token = TOKEN): Promise<void> {
  await page.locator("#token").fill(token);
  await page.keyboard.press("Enter");
  await page.locator(".connection.live, .narrow-head").first().waitFor({ state: "attached" });
  await page.locator(".shell h1").first().waitFor();
}

/** Goes to an address like the browser's back and forward, without reloading the console. */
export async function visit(page: Page, address: string): Promise<void> {
  await page.evaluate(
    `history.pushState(null, "", "/console/${address}"); dispatchEvent(new PopStateEvent("popstate"));
    // Until what was there before is gone.
    new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))`,
  );
  await page.locator("main:not(:has(.skeleton)) h1").waitFor();
}

/** Presses Tab until the focused element has this text or label. */
export async function tabTo(page: Page, name: string | RegExp): Promise<void> {
  const isWanted = (text: string) => (typeof name === "string" ? text === name : name.test(text));
  for (let press = 0; press < 120; press += 1) {
    await page.keyboard.press("Tab");
    if (isWanted(await page.evaluate<string>(FOCUSED))) return;
  }
  throw new Error(`Tab never came to ${name}`);
}

/** Presses Tab until the focused element has this text or label, and then Enter. */
export async function enterAt(page: Page, name: string | RegExp): Promise<void> {
  await tabTo(page, name);
  await page.keyboard.press("Enter");
}

/** Runs in the page: name of the focused element. */
const FOCUSED = `((one) => (one?.getAttribute("aria-label") ?? one?.labels?.[0]?.innerText
  ?? one?.innerText ?? "").trim())(document.activeElement)`;

async function watchOver(page: Page, origin: string, offences: string[]): Promise<void> {
  await page.exposeFunction("policyReport", (text: string) => void offences.push(text));
  await page.addInitScript(
    'addEventListener("securitypolicyviolation", (report) =>' +
      ' policyReport(["policy", report.violatedDirective, report.blockedURI, report.sample].join(" ")))',
  );
  page.on("pageerror", (error) => offences.push(`script: ${error.message}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "blob:" && url.origin !== origin) offences.push(`foreign: ${url}`);
  });
}

/** Connect with the admin token to an address that is known at the first call. */
function transportTo(origin: () => string): Transport {
  const transport = (): Transport =>
    createConnectTransport({
      baseUrl: origin(),
      httpVersion: "1.1",
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${TOKEN}`);
          return next(request);
        },
      ],
    });
  return {
    unary: (...call) => transport().unary(...call),
    stream: (...call) => transport().stream(...call),
  };
}

/** Chooses a document as the backup to import. */
export async function chooseBackup(page: Page, document: string | object): Promise<void> {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  await page.locator('input[type="file"]').setInputFiles({
    name: "backup.json",
    mimeType: "application/json",
    buffer: Buffer.from(text),
  });
}

/** A document of a backup with a title. */
export const backupWith = (title: string): object => ({
  settings: [{ key: "site_title", value: title }],
  format: "mooring-archive",
  version: 1,
});
