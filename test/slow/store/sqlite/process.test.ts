import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LedgerStore } from "../../../../src/ledger/store.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../../../store/folder.ts";
import { startProcess, type TestProcess } from "../../../store/process.ts";
import { setting } from "../../../store/sample.ts";

const newPath = temporaryPaths();

async function open(path: string): Promise<LedgerStore> {
  const store = await openSqliteStore(path);
  onTestFinished(() => store.close());
  return store;
}

const startStore = (): TestProcess =>
  startProcess(new URL("../../../store/sqlite/store-program.ts", import.meta.url));

describe("several processes on one file", () => {
  test("may create a new one at once", { timeout: 120_000 }, async () => {
    const others = Array.from({ length: 6 }, startStore);
    await Promise.all(others.map((other) => other.call("load").catch(() => undefined)));
    for (let round = 0; round < 25; round += 1) {
      const path = newPath();
      const ids = await Promise.all(others.map((other) => other.call("open", path)));
      expect(new Set(ids).size).toBe(1);
      await Promise.all(others.map((other) => other.call("close")));
    }
  });

  test("keep one sequence of revisions while all of them write", async () => {
    const path = newPath();
    const store = await open(path);
    const others = [startStore(), startStore(), startStore()];
    await Promise.all(others.map((other) => other.call("open", path)));
    const made = await Promise.all(
      others.map((other, at) => other.call<number[]>("incrementOften", `k${at}`, 50)),
    );
    const all = made.flat().sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 150 }, (_, at) => at + 1));
    const commits = await store.commits(0, 150, 150);
    expect(commits.map(({ revision }) => revision)).toEqual(all);
    made.forEach((revisions, at) => {
      const own = commits.filter(({ changes }) => changes[0]?.key === `k${at}`);
      expect(own.map(({ revision }) => revision)).toEqual(revisions);
    });
  });

  test("see each other's commits, and not their own", async () => {
    const path = newPath();
    const store = await open(path);
    const other = startStore();
    await other.call("open", path);
    await other.call("load");
    await store.load();
    await other.call("increment", "a");
    expect(store.changedElsewhere()).toBe(true);
    expect(await other.call("changedElsewhere")).toBe(false);
    expect(await store.delta(0)).toMatchObject({ revision: 1, changed: [{ key: "a" }] });
    await store.transact((trx) => trx.write(setting(2, { b: "2" })));
    expect(store.changedElsewhere()).toBe(false);
    expect(await other.call("changedElsewhere")).toBe(true);
  });

  test("do not lose what one has in the log when another one stops", async () => {
    const path = newPath();
    const store = await open(path);
    // In this process the file is opened and closed a second time.
    await (await openSqliteStore(path)).close();
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
    const other = startStore();
    await other.call("open", path);
    await other.call("increment", "b");
    await other.call("close");
    await store.transact((trx) => trx.write(setting(3, { c: "3" })));
    const again = startStore();
    await again.call("open", path);
    expect(await again.call("load")).toMatchObject({
      revision: 3,
      records: [{ key: "a" }, { key: "b" }, { key: "c" }],
    });
  });
});

describe("a process that is killed at any moment", () => {
  test("has kept everything that it had acknowledged", async () => {
    const path = newPath();
    let last = 0;
    for (let round = 0; round < 5; round += 1) {
      const other = startStore();
      await other.call("open", path);
      void other.call("incrementForever", "a").catch(() => undefined);
      await other.event<number>((revision) => revision >= last + 20 + round);
      await other.kill();
      const acknowledged = Math.max(...(other.events as number[]));
      const store = await openSqliteStore(path);
      const { revision, records: settings } = await store.load();
      expect(revision).toBeGreaterThanOrEqual(acknowledged);
      expect(settings).toMatchObject([{ body: String(revision), revision }]);
      const commits = await store.commits(0, revision, revision);
      expect(commits.map((one) => one.revision)).toEqual(
        Array.from({ length: revision }, (_, at) => at + 1),
      );
      await store.close();
      last = revision;
    }
  });

  test("leaves a database that opens, also while it is being created", async () => {
    const path = newPath();
    for (let wait = 0; wait < 12; wait += 1) {
      const other = startStore();
      await other.call("load").catch(() => undefined);
      void other.call("open", path).catch(() => undefined);
      await sleep(wait);
      await other.kill();
    }
    const store = await open(path);
    expect(await store.load()).toEqual({ revision: 0, records: [] });
  });
});
