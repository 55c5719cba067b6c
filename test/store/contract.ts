/** Contract of every implementation of LedgerStore; each dialect runs all of it. */
import { describe, expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import type { LedgerStore, StoredWrite } from "../../src/ledger/store.ts";
import { describeHistory } from "./history-contract.ts";
import { type PlaceOf, placeForEach } from "./place.ts";
import { changed, commit, deleting, setting, stored, writing } from "./sample.ts";

/** The store of one test, on a database of its own. */
export interface OpenStore {
  readonly store: LedgerStore;
  /** Opens another store on the same database; it is closed at the end of the test. */
  open(): Promise<LedgerStore>;
  write(rows: StoredWrite, by?: LedgerStore): Promise<unknown>;
}

/** Runs the contract for one implementation. */
export function describeSettingStore(
  name: string,
  newPlace: () => Promise<PlaceOf<LedgerStore>>,
): void {
  describe(name, () => {
    const { open, store } = placeForEach(newPlace);
    const write = (rows: StoredWrite, by = store) => by.transact((trx) => trx.write(rows));

    describe("stored records", () => {
      test("are none at revision 0 in a new database", async () => {
        expect(await store.load()).toEqual({ revision: 0, records: [] });
        expect(await store.oldestRevision()).toBe(0);
        expect(await store.listRevisions({ limit: 10 })).toEqual([]);
        expect(await store.commits(0, 100, 10)).toEqual([]);
        expect(await store.delta(0)).toEqual({
          revision: 0,
          changed: [],
          deleted: [],
          commits: [],
        });
      });

      test("have every member, with text of any script and line breaks", async () => {
        const one = stored({
          kind: "sealed",
          key: "ключ 🔑",
          body: "a\nb\t'\"\\ ünï 👩‍👩‍👧‍👦 ",
          attributes: '{"why":"ünï"}',
          secrets: { "a part": "sealed:v1", __proto__: "other" },
          position: 3,
        });
        await write(writing({ revisions: [commit({ revision: 1 })], upserts: [one] }));
        expect(await store.load()).toEqual({ revision: 1, records: [one] });
      });

      test("are kept when the database is opened again", async () => {
        await write(setting(1, { a: "1" }));
        await store.close();
        const again = await open();
        expect(await again.load()).toMatchObject({ revision: 1, records: [{ key: "a" }] });
      });

      test("are replaced with all members by a second write", async () => {
        await write(setting(1, { a: "1" }));
        const replaced = stored({
          key: "a",
          body: null,
          secrets: { a: "2" },
          attributes: "{}",
          revision: 2,
        });
        await write(writing({ revisions: [commit({ revision: 2 })], upserts: [replaced] }));
        expect((await store.load()).records).toEqual([replaced]);
      });

      test("are ordered by position", async () => {
        const upserts = ["c", "a", "b"].map((key, at) => stored({ key, position: at + 1 }));
        await write(writing({ revisions: [commit({ revision: 1 })], upserts }));
        expect((await store.load()).records.map(({ key }) => key)).toEqual(["c", "a", "b"]);
      });

      test("can be written and deleted by thousands in one write", async () => {
        const keys = Array.from({ length: 3_500 }, (_, at) => `k${at}`);
        const body = "v".repeat(100);
        await write(setting(1, Object.fromEntries(keys.map((key) => [key, body]))));
        expect((await store.load()).records).toHaveLength(3_500);
        expect((await store.commits(0, 1, 1))[0]?.changes).toHaveLength(3_500);
        await write(deleting(2, keys));
        expect((await store.load()).records).toEqual([]);
        expect((await store.delta(1))?.deleted).toHaveLength(3_500);
      });
    });

    describe("a transaction", () => {
      test("returns the result of its work", async () => {
        expect(await store.transact(async () => "done")).toBe("done");
      });

      test("writes nothing when its work rejects, and rejects with the same error", async () => {
        const refused = new Error("no");
        const work = store.transact(async (trx) => {
          await trx.write(setting(1, { a: "1" }));
          expect(await trx.revision()).toBe(1);
          throw refused;
        });
        await expect(work).rejects.toBe(refused);
        expect(await store.load()).toEqual({ revision: 0, records: [] });
        await write(setting(1, { a: "2" }));
        expect((await store.load()).records[0]?.body).toBe("2");
      });

      test("sees its own writes and earlier commits", async () => {
        await write(setting(1, { a: "1" }));
        await store.transact(async (trx) => {
          expect(await trx.revision()).toBe(1);
          await trx.write(setting(2, { b: "2" }));
          expect((await trx.load()).records.map(({ key }) => key)).toEqual(["a", "b"]);
          expect((await trx.delta(1))?.changed).toMatchObject([{ key: "b" }]);
        });
      });

      test("runs alone, also with many at once, in one store or several", async () => {
        const stores = [store, await open(), await open()];
        const next = (by: LedgerStore) =>
          by.transact(async (trx) => {
            const revision = (await trx.revision()) + 1;
            await trx.write(setting(revision, { counter: String(revision) }));
            return revision;
          });
        const results = await Promise.all(
          Array.from({ length: 60 }, (_, at) => next(stores[at % stores.length] ?? store)),
        );
        expect(results.sort((a, b) => a - b)).toEqual(
          Array.from({ length: 60 }, (_, at) => at + 1),
        );
        expect((await store.load()).records).toMatchObject([{ body: "60", revision: 60 }]);
      });

      test("does not block concurrent reads", async () => {
        const writes = Array.from({ length: 20 }, (_, at) =>
          write(setting(at + 1, { a: `${at}` })),
        );
        const reads = Array.from({ length: 20 }, () => store.load());
        await Promise.all(writes);
        for (const state of await Promise.all(reads))
          expect(state.records[0]?.revision ?? 0).toBe(state.revision);
      });

      test("with an existing revision is refused as a whole, as a StoreError", async () => {
        await write(setting(1, { a: "1" }));
        await expect(write(setting(1, { a: "2", b: "2" }))).rejects.toBeInstanceOf(StoreError);
        expect((await store.load()).records).toMatchObject([{ key: "a", body: "1" }]);
      });
    });

    describe("a text with a NUL character", () => {
      test.each([
        ["body", setting(1, { a: "x\0y" })],
        ["reason", writing({ revisions: [commit({ revision: 1, reason: "\0" })] })],
        [
          "former body",
          writing({
            revisions: [commit({ revision: 1, changes: [changed({ key: "a", oldBody: "\0" })] })],
          }),
        ],
      ])(
        "as a %s is refused as a whole with its own error, and the next write succeeds",
        async (_what, rows) => {
          const refused = write(rows);
          await expect(refused).rejects.toBeInstanceOf(StoreError);
          await expect(refused).rejects.toThrow(/cannot store a text with a NUL character/);
          expect(await store.load()).toEqual({ revision: 0, records: [] });
          await write(setting(1, { a: "xy" }));
        },
      );
    });

    describe("changedElsewhere", () => {
      test("is false after own commits, and the database is reachable", async () => {
        await store.load();
        expect(store.awayFor()).toBe(0);
        await write(setting(1, { a: "1" }));
        expect(store.changedElsewhere()).toBe(false);
      });

      test("is true after another connection's commit until it is read, by any read", async () => {
        const other = await open();
        await store.load();
        const reads = [
          () => store.load(),
          () => store.delta(0),
          () => store.transact(async (trx) => void (await trx.load())),
        ];
        for (const [at, read] of reads.entries()) {
          expect(store.changedElsewhere()).toBe(false);
          await write(setting(at + 1, { a: "1" }), other);
          await expect.poll(() => store.changedElsewhere()).toBe(true);
          expect(store.changedElsewhere()).toBe(true);
          await read();
        }
        expect(store.changedElsewhere()).toBe(false);
      });

      test("stays true after a failed transaction that read it", async () => {
        const other = await open();
        await store.load();
        await write(setting(1, { a: "1" }), other);
        await expect.poll(() => store.changedElsewhere()).toBe(true);
        await expect(store.transact(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
        expect(store.changedElsewhere()).toBe(true);
      });

      test("stays true after reads of the history and after maintenance", async () => {
        const other = await open();
        await store.load();
        await write(setting(1, { a: "1" }), other);
        await expect.poll(() => store.changedElsewhere()).toBe(true);
        await store.listRevisions({ limit: 1 });
        await store.commits(0, 1, 1);
        await store.compact({ count: 1, notBefore: 0 }, 10);
        await store.rewrite(() => ({ records: [], audit: [] }));
        expect(store.changedElsewhere()).toBe(true);
      });
    });

    describe("seenEverywhere", () => {
      test("resolves once every other store has detected the change", async () => {
        const others = [await open(), await open()];
        for (const one of [store, ...others]) await one.load();
        await write(setting(1, { a: "1" }));
        const reading = Promise.all(
          others.map(async (other) => {
            await expect.poll(() => other.changedElsewhere()).toBe(true);
            await other.load();
          }),
        );
        await store.seenEverywhere(1);
        for (const other of others)
          expect(other.changedElsewhere() || (await other.load()).revision === 1).toBe(true);
        await reading;
      });

      test("does not wait for stores that have detected it already, or are closed", async () => {
        const other = await open();
        await write(setting(1, { a: "1" }));
        await other.close();
        await store.seenEverywhere(1);
        await store.seenEverywhere(0);
      });
    });

    describeHistory({ store, open, write });

    describe("a job slot", () => {
      test("is acquired by one caller in each interval, over all stores", async () => {
        const other = await open();
        const claims = [store, other, store, other].map((by) =>
          by.tryAcquireJobSlot("sweep", 1_000, 5_000),
        );
        expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
        expect(await other.tryAcquireJobSlot("sweep", 1_000, 5_999)).toBe(false);
        expect(await other.tryAcquireJobSlot("sweep", 1_000, 6_000)).toBe(true);
        expect(await store.tryAcquireJobSlot("another", 1_000, 6_000)).toBe(true);
      });

      test("is acquired once, and then by the new time, when the clock jumps either way", async () => {
        for (const now of [5_000, 1e15, 3_000]) {
          expect(await store.tryAcquireJobSlot("sweep", 1_000, now)).toBe(true);
          expect(await store.tryAcquireJobSlot("sweep", 1_000, now + 999)).toBe(false);
        }
      });
    });

    describe("the identity of a database", () => {
      test("is an id and a key, the same at every opening", async () => {
        const other = await open();
        expect(store.databaseId).toMatch(/^[\w-]{8,}$/);
        expect(other.databaseId).toBe(store.databaseId);
        expect(store.fingerprintKey).toHaveLength(32);
        expect(other.fingerprintKey).toEqual(store.fingerprintKey);
      });

      test("differs from database to database", async () => {
        const elsewhere = await newPlace();
        const other = await elsewhere.open();
        expect(other.databaseId).not.toBe(store.databaseId);
        expect(other.fingerprintKey).not.toEqual(store.fingerprintKey);
        await other.close();
        await elsewhere.remove();
      });

      test("is the same for processes that open a new database at the same time", async () => {
        const fresh = await newPlace();
        const stores = await Promise.all(Array.from({ length: 5 }, () => fresh.open()));
        expect(new Set(stores.map(({ databaseId }) => databaseId)).size).toBe(1);
        await Promise.all(stores.map((one) => one.close()));
        await fresh.remove();
      });
    });

    test("after closing every call rejects with a StoreError, and closing again does nothing", async () => {
      await write(setting(1, { a: "1" }));
      await store.close();
      await store.close();
      const calls = [
        () => store.load(),
        () => store.delta(0),
        () => store.transact(async () => undefined),
        () => store.oldestRevision(),
        () => store.listRevisions({ limit: 1 }),
        () => store.commits(0, 1, 1),
        () => store.changesBetween(0, 1),
        () => store.rewrite(() => ({ records: [], audit: [] })),
        () => store.compact({ count: 1, notBefore: 0 }, 1),
        () => store.rehash({ form: "hmac2:", renew: (hash) => hash, audit: () => [] }),
        () => store.eraseReplaced(),
        () => store.tryAcquireJobSlot("sweep", 1, 1),
        () => store.seenEverywhere(1),
        async () => store.changedElsewhere(),
      ];
      for (const call of calls) await expect(call()).rejects.toBeInstanceOf(StoreError);
    });
  });
}
