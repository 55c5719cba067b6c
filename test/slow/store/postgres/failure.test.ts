import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { needs } from "../../../downloaders/program.ts";
import { failureOf, opened, SOON, save } from "../../../store/postgres/opened.ts";
import { startPgbouncer } from "../../../store/postgres/pgbouncer.ts";
import { postgresOfTest, serverOfFile, standbyOfTest } from "../../../store/postgres/server.ts";
import { openSwitch } from "../../../store/postgres/switch.ts";
import { startProcess } from "../../../store/process.ts";

/** A server that its tests stop, halt and promote. */
const server = serverOfFile();

test("a connection for notifications that is cut is opened again, and no change is missed", async () => {
  const url = await server().newDatabase();
  const [one, other] = [await opened(url), await opened(url)];
  const cut = await server().query(
    `select pg_terminate_backend(pid) as done from pg_stat_activity
      where query like 'listen%' and datname = '${url.split("/").at(-1)}'`,
  );
  expect(cut).toEqual([{ done: true }, { done: true }]);
  for (let revision = 1; revision <= 20; revision += 1) {
    await save(one.store, revision);
    await vi.waitFor(() => expect(other.store.changedElsewhere()).toBe(true), SOON);
    expect(await other.store.delta(revision - 1)).toMatchObject({ revision });
  }
});

test("a silent connection for notifications delays a change until the next check, and loses none", async () => {
  const url = await server().newDatabase();
  const address = await openSwitch(server().port);
  const [one, other] = [
    await opened(url),
    await opened(url.replace(`:${server().port}/`, `:${address.port}/`)),
  ];
  address.silence("listen ");
  for (let revision = 1; revision <= 5; revision += 1) {
    await save(one.store, revision);
    await vi.waitFor(() => expect(other.store.changedElsewhere()).toBe(true), SOON);
    expect(await other.store.delta(revision - 1)).toMatchObject({ revision });
    await one.store.seenEverywhere(revision);
  }
});

test("an address that leads to a standby for a while refuses saves, and accepts them when it is promoted", async () => {
  const { primary, standby } = await standbyOfTest();
  const address = await openSwitch(primary.port);
  const { store, logged } = await opened(`postgres://mooring@127.0.0.1:${address.port}/postgres`);
  await save(store, 1);
  await vi.waitFor(async () => {
    expect(await standby.query("select revision from head")).toEqual([{ revision: "1" }]);
  }, SOON);
  address.to(standby.port);
  await primary.kill("SIGKILL");
  await vi.waitFor(async () => {
    const { message } = await failureOf(() => save(store, 2));
    expect(message).toMatch(/is a read-only standby/);
  }, SOON);
  await vi.waitFor(
    () => expect(logged.join()).toMatch(/error: .*reads continue from memory/),
    SOON,
  );
  await standby.promote();
  await vi.waitFor(() => save(store, 2), SOON);
  await vi.waitFor(() => expect(logged.join()).toMatch(/info: .* is back/), SOON);
  expect(await store.load()).toMatchObject({ revision: 2 });
});

test("a server that is killed refuses saves and accepts them again after its restart", {
  timeout: 60_000,
}, async () => {
  const own = await postgresOfTest();
  const { store, logged } = await opened(await own.newDatabase());
  await save(store, 1);
  await own.kill("SIGKILL");
  const failures = [];
  for (let attempt = 0; attempt < 3; attempt += 1)
    failures.push(await failureOf(() => save(store, 2)));
  expect(failures.at(-1)?.failure).toBe("away");
  await vi.waitFor(
    () => expect(logged.join()).toMatch(/error: .*reads continue from memory/),
    SOON,
  );
  // The answer to whether something has changed must be: unknown.
  await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true), SOON);
  await own.start();
  await vi.waitFor(async () => save(store, 2), SOON);
  await vi.waitFor(
    () => expect(logged.join()).toMatch(/info: the database the-place is back/),
    SOON,
  );
  expect(await store.commits(0, 9, 9)).toHaveLength(2);
});

test("a save on a server that does not answer times out, with an unknown outcome", {
  timeout: 60_000,
}, async () => {
  const own = await postgresOfTest();
  const { store } = await opened(await own.newDatabase());
  await save(store, 1);
  own.pause();
  expect((await failureOf(() => save(store, 2))).failure).toBe("unsure");
  expect((await failureOf(() => store.delta(1))).failure).toBe("unsure");
  expect(store.changedElsewhere()).toBe(true);
  own.resume();
  const { revision } = await vi.waitFor(() => store.load(), SOON);
  await save(store, revision + 1);
  expect(await store.commits(0, 9, 9)).toHaveLength(revision + 1);
});

test("a change waits for the lease of a halted instance, which reads the change when it continues", async () => {
  const url = await server().newDatabase();
  const { store } = await opened(url);
  const other = startProcess(new URL("../../../store/postgres/store-program.ts", import.meta.url));
  await other.call("open", url);
  await other.call("load");
  await vi.waitFor(async () => expect(await other.call("changedElsewhere")).toBe(false), SOON);
  other.pause();
  await save(store, 1);
  await store.seenEverywhere(1);
  other.resume();
  expect(await other.call("changedElsewhere")).toBe(true);
  expect(await other.call("load")).toMatchObject({ revision: 1 });
});

test("a standby that was promoted has another id, and everything is read again", {
  timeout: 90_000,
}, async () => {
  const own = await postgresOfTest();
  const url = await own.newDatabase();
  const { store, logged } = await opened(url);
  await save(store, 1);
  const { databaseId } = store;
  await own.query("checkpoint");
  await own.promoteInPlace();
  await vi.waitFor(() => expect(logged.join()).toMatch(/warn: a standby has replaced/), SOON);
  expect(store.databaseId).not.toBe(databaseId);
  expect(store.changedElsewhere()).toBe(true);
  expect(await store.delta(1)).toBeUndefined();
  expect(await store.load()).toMatchObject({ revision: 1 });
  await vi.waitFor(() => expect(store.changedElsewhere()).toBe(false), SOON);
  await save(store, 2);
});

test("a standby without the last saves, which reuses their numbers, is detected, and nothing is mixed", {
  timeout: 90_000,
}, async () => {
  const { primary, standby } = await standbyOfTest();
  const address = await openSwitch(primary.port);
  const url = `postgres://mooring@127.0.0.1:${address.port}/postgres`;
  const { store } = await opened(url);
  await save(store, 1, "both");
  await vi.waitFor(async () => {
    const rows = await standby.query("select revision from head");
    expect(rows).toEqual([{ revision: "1" }]);
  }, SOON);
  const { databaseId } = store;
  await standby.kill("SIGINT");
  await save(store, 2, "lost");
  await save(store, 3, "lost");
  await primary.kill("SIGKILL");
  await standby.start();
  await standby.promote();
  const other = await opened(standby.url());
  for (const revision of [2, 3]) await save(other.store, revision, "kept");
  address.to(standby.port);
  // The number is the same, and the revision another one: no save may be based on it.
  const seen = await vi.waitFor(
    () =>
      store.transact(async (trx) => {
        const revision = await trx.revision();
        if (revision === 3) return undefined;
        expect(await trx.delta(3)).toBeUndefined();
        return trx.load();
      }),
    SOON,
  );
  expect(seen).toMatchObject({ revision: 3, records: [{ key: "a", body: "kept" }] });
  expect(store.databaseId).not.toBe(databaseId);
  expect(store.databaseId).toBe(other.store.databaseId);
  await save(store, 4);
  expect((await other.store.load()).records).toMatchObject([{ body: "4", revision: 4 }]);
});

describe("behind a pooler in transaction mode", () => {
  const hasPooler = needs("pgbouncer");
  beforeEach((context) => hasPooler(context));

  test("changes are polled, which is logged once, and saves of two instances work", async () => {
    const direct = await server().newDatabase();
    const { url, stop } = await startPgbouncer(server(), direct.split("/").at(-1) ?? "");
    onTestFinished(stop);
    const [one, other] = [await opened(url), await opened(url)];
    expect(other.logged).toEqual([
      expect.stringMatching(/^warn: no notifications arrive from .* it is polled every 100 ms/),
    ]);
    expect(other.store.note()).toMatch(/^no notifications arrive/);
    for (let revision = 1; revision <= 10; revision += 1) {
      const [writer, reader] = revision % 2 === 0 ? [one, other] : [other, one];
      await writer.store.load();
      await save(writer.store, revision);
      await vi.waitFor(() => expect(reader.store.changedElsewhere()).toBe(true), SOON);
      await writer.store.seenEverywhere(revision);
    }
    expect(other.logged).toHaveLength(1);
  });
});
