import createFastify from "fastify";
import { expect, test } from "vitest";
import { healthPlugin } from "../../../src/app/health.ts";
import { createStatusService, type StatusDeps } from "../../../src/app/status.ts";
import { startedMooring, TOKEN } from "../../process/mooring.ts";

async function textOf(url: string) {
  const reply = await fetch(url);
  return { status: reply.status, text: await reply.text() };
}

test("a service that serves is live and ready, with the reasons", async () => {
  const mooring = await startedMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN } });
  const at = `http://127.0.0.1:${mooring.port()}`;
  expect(await textOf(`${at}/livez`)).toEqual({ status: 200, text: "ok\n" });
  expect(await textOf(`${at}/readyz`)).toEqual({ status: 200, text: "ok\n" });
  expect(await textOf(`${at}/readyz?verbose`)).toEqual({
    status: 200,
    text: "[+] store: ok\n[+] catalogue: ok\n[+] draining: ok\nok\n",
  });
});

test("a service that drains is live and not ready", async () => {
  const mooring = await startedMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN } });
  const at = `http://127.0.0.1:${mooring.port()}`;
  // A connection that is open already: no new one is accepted while it drains.
  const watch = await fetch(`${at}/api/public/settings/watch`);
  await watch.body?.getReader().read();
  const livez = Array.from({ length: 2 }, () => fetch(`${at}/livez`));
  await Promise.all((await Promise.all(livez)).map((reply) => reply.text()));
  mooring.kill("SIGTERM");
  await mooring.logged(({ msg }) => msg === "stopping");
  expect(await textOf(`${at}/readyz`)).toEqual({
    status: 503,
    text: "[+] store: ok\n[+] catalogue: ok\n[-] draining: the service is stopping\nnot ready\n",
  });
});

const deps: StatusDeps = {
  store: {
    databaseId: "abc",
    note: () => undefined,
    problem: () => undefined,
    oldestRevision: async () => 1,
  },
  ledger: { snapshot: () => ({}) as never },
  upstreamAnswers: () => undefined,
  sites: async () => undefined,
  files: () => undefined,
  drivers: () => 1,
  watchers: () => 0,
  draining: () => false,
  version: "v1.0.0",
  database: "sqlite:/x",
  now: () => 0,
};

test("a database that cannot be read, and a catalogue without drivers, are named", async () => {
  const store = {
    databaseId: "abc",
    note: () => undefined,
    problem: () => undefined,
    oldestRevision: () => Promise.reject(new Error("/secret/path is broken")),
  };
  const checks = await createStatusService({ ...deps, store, drivers: () => 0 }).checks();
  expect(checks).toEqual([
    { name: "store", problem: "the database cannot be read" },
    { name: "catalogue", problem: "no driver is offered" },
    { name: "draining" },
  ]);
});

test("remarks on a healthy database are shown with it", async () => {
  const fastify = createFastify();
  await fastify.register(healthPlugin, {
    checks: async () => [{ name: "store", note: "no notifications arrive" }, { name: "catalogue" }],
  });
  const { statusCode, body } = await fastify.inject("/readyz?verbose");
  expect(statusCode).toBe(200);
  expect(body).toBe("[+] store: ok (no notifications arrive)\n[+] catalogue: ok\nok\n");
});

test("the database is queried once a second at most", async () => {
  let livez = 0;
  let now = 0;
  const store = {
    databaseId: "abc",
    note: () => undefined,
    problem: () => undefined,
    oldestRevision: async () => {
      livez += 1;
      return 1;
    },
  };
  const service = createStatusService({ ...deps, store, now: () => now });
  for (let count = 0; count < 5; count += 1) await service.checks();
  expect(livez).toBe(1);
  now = 1_000;
  await service.checks();
  expect(livez).toBe(2);
});
