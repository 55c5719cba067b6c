import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { docsPlugin } from "../../src/app/docs.ts";
import { SlowReaders } from "../../src/transport/slow-reader.ts";
import { publish } from "../../tools/site/publish.ts";

const PAGE = `<!doctype html><script src="/docs/assets/app.1.js"></script><a href="/docs/access">Access</a> <a href="https://other.example/docs/">other</a>`;
/** More than the socket buffers of a connection. */
const LARGE = 16 * 2 ** 20;
const FILES: Readonly<Record<string, string>> = {
  "index.html": PAGE,
  "access.html": PAGE.replace("Access", "Tokens"),
  "driver/index.html": PAGE,
  "404.html": "<!doctype html><title>404</title>",
  "assets/app.1.js": `import("/docs/assets/page.js")\n`.repeat(20),
  "assets/console.1.png": "PNG",
  "assets/large.1.png": "P".repeat(LARGE),
  "assets/other.1.png": "Q".repeat(LARGE),
  "assets/third.1.png": "R".repeat(LARGE),
};

let folder: string;
let app: FastifyInstance;
const apps: FastifyInstance[] = [];

/** An application with the documentation only, closed after all tests. */
async function serving(options: object): Promise<FastifyInstance> {
  const fastify = Fastify({ routerOptions: { ignoreTrailingSlash: true } });
  await fastify.register(docsPlugin, options);
  apps.push(fastify);
  return fastify;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mooring-docs-"));
  for (const name of ["assets", "driver"]) mkdirSync(join(folder, name));
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  await publish(folder);
  app = await serving({ folder, hasReference: true });
});

afterAll(async () => {
  for (const one of apps) await one.close();
  rmSync(folder, { recursive: true });
});

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers });

describe("the documentation site", () => {
  test.each([
    ["/docs/", "index.html"],
    ["/docs/?q=1", "index.html"],
    ["/docs/access", "access.html"],
    ["/docs/driver/", "driver/index.html"],
    ["/docs/assets/app.1.js", "assets/app.1.js"],
    ["/docs/assets/console.1.png", "assets/console.1.png"],
  ])("at %s is the file %s", async (url, name) => {
    const reply = await get(url);
    expect([reply.statusCode, reply.body]).toEqual([200, FILES[name]]);
  });

  test.each(["/docs/nothing", "/docs/site.json", "/docs/access.html.br"])(
    "%s is the 404 page",
    async (url) => {
      const reply = await get(url);
      expect([reply.statusCode, reply.body]).toEqual([404, FILES["404.html"]]);
    },
  );

  test("a folder without its slash redirects to the one with it", async () => {
    const reply = await get("/docs/driver");
    expect([reply.statusCode, reply.headers.location]).toEqual([308, "driver/"]);
  });

  test("the former address of the REST reference redirects to the reference", async () => {
    const reply = await get("/docs");
    expect([reply.statusCode, reply.headers.location]).toEqual([302, "reference"]);
  });

  test("the site's link to the reference leads to the reference", async () => {
    const reply = await get("/docs/reference");
    expect([reply.statusCode, reply.headers.location]).toEqual([302, "../reference"]);
  });

  test("files with a hash in their name are immutable, pages are revalidated", async () => {
    const { headers } = await get("/docs/assets/app.1.js");
    expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
    expect((await get("/docs/access")).headers["cache-control"]).toBe("public, no-cache");
  });

  test("texts are compressed, each coding with its own entity tag", async () => {
    const br = await get("/docs/access", { "accept-encoding": "gzip, br" });
    const gz = await get("/docs/access", { "accept-encoding": "gzip" });
    const plain = await get("/docs/access");
    expect(brotliDecompressSync(br.rawPayload).toString()).toBe(plain.body);
    expect(gunzipSync(gz.rawPayload).toString()).toBe(plain.body);
    expect([br, gz, plain].map(({ headers }) => headers["content-encoding"])).toEqual([
      "br",
      "gzip",
      undefined,
    ]);
    expect(new Set([br, gz, plain].map(({ headers }) => headers.etag)).size).toBe(3);
    expect(br.headers.vary).toBe("Accept-Encoding");
  });

  test("the policy allows no inline scripts and no inline styles", async () => {
    const { headers } = await get("/docs/");
    const policy = String(headers["content-security-policy"]).split("; ");
    expect(policy).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
      ]),
    );
  });

  test("that is not built is answered with 503 and the command that builds it", async () => {
    const unbuilt = await serving({ folder: join(folder, "assets") });
    const reply = await unbuilt.inject({ url: "/docs/" });
    expect(reply.statusCode).toBe(503);
    expect(reply.json().message).toContain(
      'the documentation site is not built: run "npm run docs:site", then reload',
    );
  });

  test("below another path its own links have that path, and external ones do not", async () => {
    const below = await serving({ folder, below: "/@mooring" });
    const { body } = await below.inject({ url: "/docs/access" });
    expect(body).toContain('src="/@mooring/docs/assets/app.1.js"');
    expect(body).toContain('href="https://other.example/docs/"');
    const headers = { "accept-encoding": "br, gzip" };
    const gz = await below.inject({ url: "/docs/access", headers });
    expect(gunzipSync(gz.rawPayload).toString()).toBe(body);
    expect(gz.headers["content-encoding"]).toBe("gzip");
  });

  test("stalled readers share one copy of a file, and are limited in bytes together", async () => {
    const slowReaders = new SlowReaders({ together: 2 * LARGE, patienceMs: 60_000 });
    const held = await serving({ folder, slowReaders });
    await held.listen({ host: "127.0.0.1", port: 0 });
    const { port } = held.server.address() as AddressInfo;
    const ask = (name: string) => {
      const socket = connect({ host: "127.0.0.1", port });
      onTestFinished(() => void socket.destroy());
      socket.on("error", () => undefined).pause();
      socket.write(`GET /docs/assets/${name}.1.png HTTP/1.1\r\nHost: a\r\n\r\n`);
      return new Promise<void>((resolve) => socket.once("readable", resolve));
    };
    await Promise.all(Array.from({ length: 8 }, () => ask("large")));
    expect([slowReaders.bytes, slowReaders.dropped]).toEqual([LARGE, 0]);
    await ask("other");
    expect([slowReaders.bytes, slowReaders.dropped]).toEqual([2 * LARGE, 0]);
    await ask("third");
    expect([slowReaders.bytes, slowReaders.dropped]).toEqual([2 * LARGE, 8]);
  });
});

test.each([
  ["/docs/access.html", "access"],
  ["/docs/access.md", "access"],
  ["/docs/access/", "../access"],
  ["/docs/index.html", "./"],
  ["/docs/driver/index.html", "./"],
])("%s redirects to the address of its page", async (path, location) => {
  expect(await get(path)).toMatchObject({ statusCode: 308, headers: { location } });
});

test.each(["/docs/none.html", "/docs/404.html", "/docs/none.md", "/docs/none/"])(
  "%s is not found",
  async (path) => {
    expect((await get(path)).statusCode).toBe(404);
  },
);
