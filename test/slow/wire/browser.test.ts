import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { browserFile, launchBrowser, needsBrowser } from "../../browser.ts";
import { type PageServer, startPageServer } from "../../wire/browser/page-server.ts";
import { startService, type TestService, TOKEN, VERSION } from "../../wire/service.ts";

const protocols = ["Connect", "Connect with GET", "Connect with bytes", "gRPC-Web"];

describe("a page of another origin in Chromium", () => {
  let service: TestService;
  let pages: PageServer;
  let browser: Browser | undefined;
  let page: Page;
  let baseUrl: string;

  beforeEach(needsBrowser());

  beforeAll(async () => {
    if (browserFile === undefined) return;
    service = await startService();
    baseUrl = `http://127.0.0.1:${service.port}`;
    pages = await startPageServer();
    browser = await launchBrowser();
    page = await browser.newPage();
    await page.goto(pages.origin);
    await page.waitForFunction("globalThis.mooring !== undefined");
  });

  afterAll(async () => {
    await browser?.close();
    pages?.close();
    await service?.stop();
  });

  /** Calls a function of the page. */
  const run = (name: string, ...args: readonly unknown[]): Promise<unknown> =>
    page.evaluate(`mooring.${name}(...${JSON.stringify(args)})`);

  describe.each(protocols)("over %s", (protocol) => {
    const at = (): object => ({ protocol, baseUrl });

    test("reads public methods", async () => {
      expect(await run("publicSettings", at())).toMatchObject({ version: VERSION });
    });

    test("sends Authorization, which needs a preflight", async () => {
      expect(await run("driverNames", at(), TOKEN)).toEqual(expect.arrayContaining(["Local"]));
    });

    test("reads errors, their details and the request's id", async () => {
      expect(await run("driverNamesAsGuest", at())).toMatchObject({
        code: "Unauthenticated",
        message: expect.stringContaining("missing"),
        requestId: expect.stringMatching(/./),
      });
      expect(await run("wrongSave", at(), TOKEN)).toMatchObject({
        code: "InvalidArgument",
        fields: ["settings[0].value"],
      });
    });

    test("follows the public settings", async () => {
      expect(await run("watchPublicSettings", at(), TOKEN)).toEqual([
        expect.objectContaining({ version: VERSION }),
        { site_title: `Seen by ${protocol}` },
      ]);
    });
  });

  test("reads REST, and gets 304 by its ETag for no change", async () => {
    const url = `${baseUrl}/api/public/settings`;
    const first = (await run("rest", url)) as { etag: string };
    expect(first).toMatchObject({ status: 200, json: { code: 200, data: { version: VERSION } } });
    expect(first).toMatchObject({ requestId: expect.stringMatching(/./) });
    const again = await run("rest", url, { headers: { "if-none-match": first.etag } });
    expect(again).toMatchObject({ status: 304, etag: first.etag });
  });

  test("calls admin paths of REST with the bare token", async () => {
    const save = await run("rest", `${baseUrl}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: TOKEN, "content-type": "application/json;charset=utf-8" },
      body: JSON.stringify([{ key: "robots_txt", value: "from a page" }]),
    });
    expect(save).toMatchObject({ status: 200, json: { code: 200, data: null } });
    const guest = await run("rest", `${baseUrl}/api/admin/setting/list`, {
      headers: { authorization: "" },
    });
    expect(guest).toMatchObject({ status: 200, json: { code: 401 } });
  });

  test("reads the envelope of a path that does not exist", async () => {
    const reply = await run("rest", `${baseUrl}/nowhere`, { headers: { authorization: "x" } });
    expect(reply).toMatchObject({ status: 404, json: { code: 404 } });
  });

  test("follows the public settings by EventSource", async () => {
    expect(await run("eventSource", baseUrl, TOKEN)).toMatchObject([
      { id: expect.stringMatching(/./), snapshot: { settings: { version: VERSION } } },
      { id: expect.stringMatching(/./), change: { set: { site_title: "Seen by EventSource" } } },
    ]);
  });

  test("is refused if its origin is not in MOORING_CORS_ORIGINS", async () => {
    const env = { MOORING_CORS_ORIGINS: "https://elsewhere.example" };
    const closed = await startService({ env });
    const url = `http://127.0.0.1:${closed.port}/api/public/settings`;
    expect(await run("restFailure", url)).toMatch(/TypeError/);
    expect(await run("restFailure", url, { headers: { authorization: "x" } })).toMatch(/TypeError/);
    await closed.stop();
  });

  test("is admitted if it is", async () => {
    const env = { MOORING_CORS_ORIGINS: `https://elsewhere.example,${pages.origin}` };
    const listed = await startService({ env });
    const at = { protocol: "gRPC-Web", baseUrl: `http://127.0.0.1:${listed.port}` };
    expect(await run("driverNames", at, TOKEN)).toEqual(expect.arrayContaining(["Local"]));
    await listed.stop();
  });
});
