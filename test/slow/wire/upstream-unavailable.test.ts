import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { browserFile, launchBrowser, needsBrowser } from "../../browser.ts";
import { startStandIn } from "../../sites/stand-in.ts";
import { startedForAll } from "../../started.ts";
import { startService } from "../../wire/service.ts";
import { type HttpReply, http1Sender } from "../../wire/transport/http.ts";

const site = startedForAll(startStandIn);
const service = startedForAll(() =>
  startService({
    env: { MOORING_UPSTREAM: site.url, MOORING_SHUTDOWN_GRACE: "50ms" },
  }),
);

beforeAll(async () => {
  await site.stop();
});

/** Headers of Chromium for a URL that a user opens. */
const ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

// fetch itself would declare that it does not navigate.
const get = (headers: Record<string, string>, method = "GET"): Promise<HttpReply> =>
  http1Sender(service.port)("/a/folder?x=1", { method, headers });

describe("an unreachable upstream: a browser gets a page", () => {
  test.each([
    ["en", "de, en;q=0.5", "The site does not answer"],
    ["zh-CN", "zh-TW,zh;q=0.9,en;q=0.8", "站点无响应"],
  ])("in its language: %s", async (language, accepted, title) => {
    const reply = await get({
      accept: ACCEPT,
      "accept-language": accepted,
      "sec-fetch-mode": "navigate",
    });
    const body = reply.text;
    expect(reply.status).toBe(502);
    expect(reply.headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-language": language,
      "cache-control": "no-store",
      "retry-after": expect.stringMatching(/^\d+$/),
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("default-src 'none'; style-src 'sha256-"),
    });
    expect(body).toContain(`<html lang="${language}">`);
    expect(body).toContain(`<title>${title}</title>`);
    expect(body).not.toMatch(/https?:|src=|href=/);
  });

  test("HEAD has its headers and no body", async () => {
    const [head, whole] = await Promise.all([
      get({ accept: ACCEPT }, "HEAD"),
      get({ accept: ACCEPT }),
    ]);
    expect([head.status, head.text]).toEqual([502, ""]);
    for (const name of ["content-type", "content-length", "retry-after"])
      expect(head.headers[name]).toBe(whole.headers[name]);
  });

  test.each([
    ["a program", { accept: "*/*" }, "GET"],
    ["JSON", { accept: "application/json, text/plain, */*" }, "GET"],
    ["refused HTML", { accept: "text/html;q=0, */*" }, "GET"],
    ["a script of a page", { accept: ACCEPT, "sec-fetch-mode": "cors" }, "GET"],
    ["a form that is sent", { accept: ACCEPT, "sec-fetch-mode": "navigate" }, "POST"],
  ])("%s gets the envelope", async (_, headers, method) => {
    const reply = await get(headers, method);
    expect([reply.status, reply.headers["content-type"]]).toEqual([
      502,
      "application/json; charset=utf-8",
    ]);
    expect(reply.json).toMatchObject({ code: 502, data: null });
  });
});

describe("in a browser", () => {
  let browser: Browser | undefined;

  beforeAll(async () => {
    if (browserFile !== undefined) browser = await launchBrowser();
  });
  afterAll(() => browser?.close());

  test("the page retries by itself, calls no other host, and keeps the URL", async (context) => {
    needsBrowser()(context);
    const page = await (browser as Browser).newPage({ locale: "zh-CN" });
    const [requests, errors]: [string[], string[]] = [[], []];
    page.on("request", (request) => void requests.push(request.url()));
    page.on("console", (message) => void errors.push(message.text()));
    const url = `http://127.0.0.1:${service.port}/a/folder?x=1#part`;
    await page.goto(url);
    expect(await page.title()).toBe("站点无响应");
    await page.getByRole("button", { name: "立即重试" }).waitFor();
    await page.getByText(/^\d+ 秒后重试$/).waitFor();
    // A failed attempt is followed by another one.
    await expect.poll(() => requests.length).toBeGreaterThan(2);
    expect(await page.title()).toBe("站点无响应");
    await site.start();
    await page.locator("#login").waitFor({ state: "attached" });
    expect(page.url()).toBe(url);
    expect(
      requests.filter((each) => !each.startsWith(`http://127.0.0.1:${service.port}/`)),
    ).toEqual([]);
    expect(errors.filter((text) => /Content.Security/i.test(text))).toEqual([]);
  });
});
