import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { docsPlugin } from "../../src/app/docs.ts";
import { publish } from "../../tools/site/publish.ts";
import { run } from "./world.ts";

let folder: string;
let address: string;
let front: string;
const apps: FastifyInstance[] = [];

async function listening(fastify: FastifyInstance): Promise<string> {
  apps.push(fastify);
  await fastify.listen({ host: "127.0.0.1", port: 0 });
  return `127.0.0.1:${(fastify.server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "mooring-docs-"));
  writeFileSync(join(folder, "index.html"), "<!doctype html>");
  writeFileSync(join(folder, "404.html"), "<!doctype html>");
  await publish(folder);
  const options = { routerOptions: { ignoreTrailingSlash: true } };
  const plain = Fastify(options);
  await plain.register(docsPlugin, { folder });
  address = await listening(plain);
  const fronting = Fastify(options);
  await fronting.register(docsPlugin, { folder, below: "/@mooring", prefix: "/@mooring" });
  // A page of the upstream.
  fronting.get("/docs/", (_request, reply) => reply.type("text/html").send("files"));
  front = await listening(fronting);
});

afterAll(async () => {
  for (const one of apps) await one.close();
  rmSync(folder, { recursive: true });
});

/** Runs `docs` and records the opened address. */
async function docs(args: readonly string[], hasBrowser = true) {
  const opened: string[] = [];
  const openUrl = async (url: string): Promise<boolean> => {
    opened.push(url);
    return hasBrowser;
  };
  return { ...(await run(["docs", ...args], { world: { openUrl } })), opened };
}

test("docs prints the address and opens it", async () => {
  const url = `http://${address}/docs/`;
  expect(await docs(["--address", address])).toEqual({
    code: 0,
    out: `${url}\n`,
    err: "",
    opened: [url],
  });
});

test("docs --print and docs --json open nothing", async () => {
  const printed = await docs(["--print", "--address", address]);
  expect(printed).toMatchObject({ out: `http://${address}/docs/\n`, opened: [] });
  const json = await docs(["--json", "--address", address]);
  expect(json).toMatchObject({ out: `{"url":"http://${address}/docs/"}\n`, opened: [] });
});

test("docs prints the documentation of a service in front of a server", async () => {
  const { out } = await docs(["--print", "--address", front]);
  expect(out).toBe(`http://${front}/@mooring/docs/\n`);
});

test("docs reports that no browser could be started", async () => {
  const { code, err } = await docs(["--address", address], false);
  expect([code, err]).toEqual([
    0,
    "mooring: no browser could be started: open the address yourself\n",
  ]);
});

test("docs ends with 6 without a service, 1 for another server, 2 for a socket", async () => {
  expect(await docs(["--address", "127.0.0.1:1"])).toMatchObject({
    code: 6,
    err: expect.stringContaining("no service answers at 127.0.0.1:1"),
  });
  const other = await listening(Fastify());
  expect(await docs(["--address", other])).toMatchObject({
    code: 1,
    err: expect.stringContaining("no documentation at"),
  });
  expect(await docs(["--address", "unix:/run/mooring.sock"])).toMatchObject({
    code: 2,
    opened: [],
  });
});
