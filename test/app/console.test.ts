import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { consolePlugin } from "../../src/app/console.ts";
import { startService } from "../wire/service.ts";

const SCRIPT = "console.log('a script that is worth being compressed')\n".repeat(20);
const PAGE = '<!doctype html><html lang="en"><title>Mooring</title></html>';

let folder: string;
let app: FastifyInstance;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mooring-console-"));
  mkdirSync(join(folder, "assets"));
  for (const [name, text] of [
    ["index.html", PAGE],
    ["settings.html", PAGE.replace("Mooring", "Mooring with settings")],
    ["assets/index-1.js", SCRIPT],
  ] as const) {
    writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text));
    writeFileSync(join(folder, `${name}.gz`), gzipSync(text));
  }
  app = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
  await app.register(consolePlugin, { folder });
  await app.register(consolePlugin, { folder, services: "../../", prefix: "/@mooring" });
});

afterAll(async () => {
  await app.close();
  rmSync(folder, { recursive: true });
});

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

describe("the HTML document", () => {
  test.each(["/console/", "/console/settings", "/console/history?key=site_title"])(
    "is served at %s",
    async (url) => {
      const reply = await get(url);
      expect(reply.statusCode).toBe(200);
      expect(reply.headers).toMatchObject({
        "content-type": "text/html; charset=utf-8",
        "cache-control": "no-cache",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
      });
      expect(reply.body).toContain('<html data-services="../" data-reference="" lang="en">');
    },
  );

  test.each([
    [[], "frame-ancestors 'none'", "DENY"],
    [["'self'"], "frame-ancestors 'self'", undefined],
    [["https://panel.example"], "frame-ancestors https://panel.example", undefined],
  ])("is shown in frames of %j only", async (frameAncestors, directive, header) => {
    const own = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
    try {
      await own.register(consolePlugin, { folder, frameAncestors });
      for (const url of ["/console/", "/console/assets/index-1.js"]) {
        const { headers } = await own.inject({ url });
        expect(String(headers["content-security-policy"]).split("; ")).toContain(directive);
        expect(headers["x-frame-options"]).toBe(header);
      }
    } finally {
      await own.close();
    }
  });

  test("has a content security policy that allows only files of the console", async () => {
    const { headers } = await get("/console/");
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
    expect(headers["content-security-policy"]).not.toMatch(/unsafe|\*|http/);
  });

  test("has the relative path of the services, also below another path", async () => {
    expect((await get("/@mooring/console/drivers")).body).toContain('data-services="../../"');
  });

  test("has the title and the text of its page", async () => {
    expect((await get("/console/settings?q=ftp")).body).toContain("Mooring with settings");
    expect((await get("/console/history")).body).toContain("<title>Mooring</title>");
    expect((await get("/console/a/settings")).statusCode).toBe(404);
  });

  test("redirects to the path with a slash at its end", async () => {
    const reply = await get("/console");
    expect([reply.statusCode, reply.headers.location]).toEqual([308, "console/"]);
  });
});

describe("a file", () => {
  const url = "/console/assets/index-1.js";

  test("is sent in an accepted coding, with an immutable Cache-Control", async () => {
    const forms = {
      br: (bytes: Buffer) => brotliDecompressSync(bytes),
      gzip: (bytes: Buffer) => gunzipSync(bytes),
    };
    const tags = new Set<unknown>();
    for (const [coding, decode] of Object.entries(forms)) {
      const reply = await get(url, { "accept-encoding": coding });
      expect(reply.headers).toMatchObject({
        "content-encoding": coding,
        "content-type": "text/javascript; charset=utf-8",
        "cache-control": "public, max-age=31536000, immutable",
        vary: "Accept-Encoding",
      });
      expect(decode(reply.rawPayload).toString()).toBe(SCRIPT);
      tags.add(reply.headers.etag);
    }
    const plain = await get(url);
    expect(plain.body).toBe(SCRIPT);
    tags.add(plain.headers.etag);
    // A strong entity tag identifies bytes: each coding has its own.
    expect(tags.size).toBe(3);
    for (const tag of tags) expect(tag).toMatch(/^"[\w-]{22}(?:-br|-gzip)?"$/);
  });

  test("is answered with 304 if the client has it", async () => {
    const { headers } = await get(url, { "accept-encoding": "br" });
    const again = { "accept-encoding": "br", "if-none-match": `"other", ${headers.etag}` };
    const reply = await get(url, again);
    expect([reply.statusCode, reply.body, reply.headers.etag]).toEqual([304, "", headers.etag]);
    expect((await get(url, { ...again, "if-none-match": '"other"' })).statusCode).toBe(200);
  });

  test("is answered to HEAD without a body", async () => {
    const reply = await app.inject({ method: "HEAD", url });
    expect(reply.headers["content-length"]).toBe(String(SCRIPT.length));
    expect(reply.body).toBe("");
  });
});

test.each([
  ["/console/assets/other.js"],
  ["/console/assets/"],
  ["/console/assets/index-1"],
  ["/console/a/b"],
  ["/console/index.html.br"],
  ["/console/..%2f..%2fpackage.json"],
  ["/console/%2e%2e/index-1.js"],
])("%s is answered with 404", async (url) => {
  expect((await get(url)).statusCode).toBe(404);
});

test("methods other than GET and HEAD are answered with 405", async () => {
  const reply = await app.inject({ method: "POST", url: "/console/" });
  expect([reply.statusCode, reply.headers.allow]).toEqual([405, "GET, HEAD"]);
});

test("without a build the console answers with 503 and the reason", async () => {
  const bare = Fastify();
  await bare.register(consolePlugin, { folder: join(folder, "nothing") });
  const reply = await bare.inject("/console/");
  expect(reply.statusCode).toBe(503);
  expect(reply.body).toContain("npm run build");
  await bare.close();
});

test.each([
  ["on", [200, 503]],
  ["off", [404]],
])("MOORING_CONSOLE=%s decides whether the console is served", async (mode, statuses) => {
  const service = await startService({ env: { MOORING_CONSOLE: mode } });
  const reply = await fetch(`http://127.0.0.1:${service.port}/console/`);
  // A program that runs from its source may have no build.
  expect(statuses).toContain(reply.status);
  await service.stop();
});
