import {
  afterAll,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { StoreError } from "../../../src/store/error.ts";
import { postgresServer } from "../../../src/store/postgres/server.ts";
import { openPostgresSettingStore } from "../../../src/store/postgres/setting-store.ts";
import type { SettingStore } from "../../../src/store/setting-store.ts";
import { freePort, needs } from "../../downloader/program.ts";
import { startProcess } from "../process.ts";
import { setting } from "../sample.ts";
import { startPgbouncer } from "./pgbouncer.ts";
import { hasPostgres, postgresProgram, startPostgres, type TestServer } from "./server.ts";
import { openSwitch } from "./switch.ts";

// A server that is shared with other tests may be slow.
vi.setConfig({ testTimeout: 90_000 });

const isThere = needs(postgresProgram("postgres"));
beforeEach((context) => isThere(context));

/** A server that its tests stop, halt and promote. */
let server: TestServer;
beforeAll(async () => {
  if (hasPostgres) server = await startPostgres();
});
afterAll(() => server?.remove());

const HALTED = { timeout: 15_000, interval: 20 };

async function opened(url: string) {
  const said: string[] = [];
  const notify = (level: string, message: string): void => void said.push(`${level}: ${message}`);
  const store = await openPostgresSettingStore(postgresServer(url, "the-place"), { notify });
  onTestFinished(() => store.close());
  await store.load();
  return { store, said };
}

const save = (store: SettingStore, revision: number, value = String(revision)) =>
  store.transact((trx) => trx.write(setting(revision, { a: value })));

async function failureOf(action: () => Promise<unknown>): Promise<StoreError> {
  try {
    await action();
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    expect(error.message).not.toContain("\n");
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("opening a database says in one sentence", () => {
  const refusal = (url: string) => failureOf(() => opened(url));

  test("that nothing listens there", async () => {
    const { failure, message } = await refusal(
      `postgres://u:pw-secret@127.0.0.1:${await freePort()}/x`,
    );
    expect(failure).toBe("away");
    expect(message).toBe(
      "the database the-place does not answer: start it, or correct MOORING_DATABASE_URL",
    );
  });

  test("that there is no database of that name", async () => {
    expect((await refusal(server.url("nowhere"))).message).toMatch(/has no database of that name/);
  });

  test("that the user may not make tables", async () => {
    const url = await server.newDatabase();
    await server.query("create role guest login");
    expect((await refusal(url.replace("mooring@", "guest@"))).message).toMatch(
      /does not let this user do that: grant it CREATE on the schema/,
    );
  });

  test("that a newer Mooring wrote it, and changes nothing", async () => {
    const url = await server.newDatabase();
    const name = url.split("/").at(-1) ?? "";
    await (await opened(url)).store.close();
    await server.query("insert into migration values ('9999_future', '2099-01-01')", name);
    const { failure, message } = await refusal(url);
    expect(failure).toBe("unusable");
    expect(message).toMatch(/was written by a newer Mooring than this one/);
  });

  test("that it is a standby", { timeout: 60_000 }, async () => {
    const standby = await server.standby();
    onTestFinished(() => standby.remove());
    expect((await refusal(standby.url())).message).toMatch(
      /is a read-only standby: MOORING_DATABASE_URL has to name the primary/,
    );
  });
});

test("a connection for notifications that is cut is opened again, and nothing is missed meanwhile", async () => {
  const url = await server.newDatabase();
  const [one, other] = [await opened(url), await opened(url)];
  const cut = await server.query(
    `select pg_terminate_backend(pid) as done from pg_stat_activity
      where query like 'listen%' and datname = '${url.split("/").at(-1)}'`,
  );
  expect(cut).toEqual([{ done: true }, { done: true }]);
  for (let revision = 1; revision <= 20; revision += 1) {
    await save(one.store, revision);
    await vi.waitFor(() => expect(other.store.changedElsewhere()).toBe(true), HALTED);
    expect(await other.store.delta(revision - 1)).toMatchObject({ revision });
  }
});

test("a server that is killed refuses saves and takes them again when it is back", {
  timeout: 60_000,
}, async () => {
  const own = await startPostgres();
  onTestFinished(() => own.remove());
  const { store, said } = await opened(await own.newDatabase());
  await save(store, 1);
  await own.kill("SIGKILL");
  const failures = [];
  for (let attempt = 0; attempt < 3; attempt += 1)
    failures.push(await failureOf(() => save(store, 2)));
  expect(failures.at(-1)?.failure).toBe("away");
  await vi.waitFor(() => expect(said.join()).toMatch(/error: .*reads go on from memory/), HALTED);
  // Whoever asks whether something has changed has to be told that nobody knows.
  await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true), HALTED);
  await own.start();
  await vi.waitFor(async () => save(store, 2), HALTED);
  await vi.waitFor(
    () => expect(said.join()).toMatch(/info: the database the-place is back/),
    HALTED,
  );
  expect(await store.commits(0, 9, 9)).toHaveLength(2);
});

test("a server that does not answer is given up, and nobody can know what became of the save", {
  timeout: 60_000,
}, async () => {
  const own = await startPostgres();
  onTestFinished(() => own.remove());
  const { store } = await opened(await own.newDatabase());
  await save(store, 1);
  own.pause();
  expect((await failureOf(() => save(store, 2))).failure).toBe("unsure");
  expect((await failureOf(() => store.delta(1))).failure).toBe("unsure");
  expect(store.changedElsewhere()).toBe(true);
  own.resume();
  const { revision } = await vi.waitFor(() => store.load(), HALTED);
  await save(store, revision + 1);
  expect(await store.commits(0, 9, 9)).toHaveLength(revision + 1);
});

test("another instance that is halted is waited for as long as its lease, and asks when it goes on", async () => {
  const url = await server.newDatabase();
  const { store } = await opened(url);
  const other = startProcess(new URL("./store-program.ts", import.meta.url));
  await other.call("open", url);
  await other.call("load");
  await vi.waitFor(async () => expect(await other.call("changedElsewhere")).toBe(false), HALTED);
  other.pause();
  await save(store, 1);
  await store.seenEverywhere(1);
  other.resume();
  expect(await other.call("changedElsewhere")).toBe(true);
  expect(await other.call("load")).toMatchObject({ revision: 1 });
});

test("a standby that was promoted has another id, and everything is read anew", {
  timeout: 90_000,
}, async () => {
  const own = await startPostgres();
  onTestFinished(() => own.remove());
  const url = await own.newDatabase();
  const { store, said } = await opened(url);
  await save(store, 1);
  const { databaseId } = store;
  await own.query("checkpoint");
  await own.promoteInPlace();
  await vi.waitFor(
    () => expect(said.join()).toMatch(/warn: a standby has taken the place/),
    HALTED,
  );
  expect(store.databaseId).not.toBe(databaseId);
  expect(store.changedElsewhere()).toBe(true);
  expect(await store.delta(1)).toBeUndefined();
  expect(await store.load()).toMatchObject({ revision: 1 });
  await vi.waitFor(() => expect(store.changedElsewhere()).toBe(false), HALTED);
  await save(store, 2);
});

test("a standby that lacks the last saves and uses their numbers again is noticed, and nothing is mixed", {
  timeout: 90_000,
}, async () => {
  const primary = await startPostgres();
  onTestFinished(() => primary.remove());
  const standby = await primary.standby();
  onTestFinished(() => standby.remove());
  const address = await openSwitch(primary.port);
  const url = `postgres://mooring@127.0.0.1:${address.port}/postgres`;
  const { store } = await opened(url);
  await save(store, 1, "both");
  await vi.waitFor(async () => {
    const rows = await standby.query("select revision from head");
    expect(rows).toEqual([{ revision: "1" }]);
  }, HALTED);
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
  // The number is the same, and the revision another one: it must not be built upon.
  const seen = await vi.waitFor(
    () =>
      store.transact(async (trx) => {
        const revision = await trx.revision();
        if (revision === 3) return undefined;
        expect(await trx.delta(3)).toBeUndefined();
        return trx.load();
      }),
    HALTED,
  );
  expect(seen).toMatchObject({ revision: 3, settings: [{ key: "a", value: "kept" }] });
  expect(store.databaseId).not.toBe(databaseId);
  expect(store.databaseId).toBe(other.store.databaseId);
  await save(store, 4);
  expect((await other.store.load()).settings).toMatchObject([{ value: "4", revision: 4 }]);
});

describe("behind a pooler in transaction mode", () => {
  const hasPooler = needs("pgbouncer");
  beforeEach((context) => hasPooler(context));

  test("changes are asked for, which is said once, and saves of two instances work", async () => {
    const direct = await server.newDatabase();
    const { url, stop } = await startPgbouncer(server, direct.split("/").at(-1) ?? "");
    onTestFinished(stop);
    const [one, other] = [await opened(url), await opened(url)];
    expect(other.said).toEqual([
      expect.stringMatching(/^warn: no notifications come from .* it is asked every 100 ms/),
    ]);
    expect(other.store.note()).toMatch(/^no notifications come/);
    for (let revision = 1; revision <= 10; revision += 1) {
      const [writer, reader] = revision % 2 === 0 ? [one, other] : [other, one];
      await writer.store.load();
      await save(writer.store, revision);
      await vi.waitFor(() => expect(reader.store.changedElsewhere()).toBe(true), HALTED);
      await writer.store.seenEverywhere(revision);
    }
    expect(other.said).toHaveLength(1);
  });
});
