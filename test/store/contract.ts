/**
 * What every implementation of SettingStore keeps to. It is one file because it is one contract: a
 * second dialect runs it whole.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import type { SettingStore, StoredWrite } from "../../src/settings/store.ts";
import { entry } from "./audit-contract.ts";
import { changed, commit, deleting, setting, stored } from "./sample.ts";

/** A new, empty database and a way to open it as often as one likes. */
export interface Place {
  open(): Promise<SettingStore>;
  remove(): Promise<void>;
}

/** Runs the contract for one implementation. */
export function describeSettingStore(name: string, newPlace: () => Promise<Place>): void {
  describe(name, () => {
    let place: Place;
    let store: SettingStore;
    const opened: SettingStore[] = [];
    const open = async (): Promise<SettingStore> => {
      const another = await place.open();
      opened.push(another);
      return another;
    };
    const write = (rows: StoredWrite, by = store) => by.transact((trx) => trx.write(rows));

    beforeEach(async () => {
      place = await newPlace();
      store = await open();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((one) => one.close()));
      await place.remove();
    });

    describe("what is stored", () => {
      test("a new database is empty and at revision 0", async () => {
        expect(await store.load()).toEqual({ revision: 0, settings: [] });
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

      test("every member of a setting comes back, text of any script and line breaks too", async () => {
        const one = stored({
          key: "ключ 🔑",
          value: "a\nb\t'\"\\ ünï 👩‍👩‍👧‍👦 ",
          type: "select",
          options: "a,b",
          help: "why",
          group: -7,
          flag: 2,
          origin: "known",
          position: 3,
        });
        await write({
          revisions: [commit({ revision: 1 })],
          upserts: [one],
          deletes: [],
          audit: [],
        });
        expect(await store.load()).toEqual({ revision: 1, settings: [one] });
      });

      test("it is still there when the database is opened again", async () => {
        await write(setting(1, { a: "1" }));
        await store.close();
        opened.length = 0;
        const again = await open();
        expect(await again.load()).toMatchObject({ revision: 1, settings: [{ key: "a" }] });
      });

      test("a second write of a key replaces all of its members", async () => {
        await write(setting(1, { a: "1" }));
        const replaced = stored({ key: "a", value: "2", type: "text", flag: 0, revision: 2 });
        await write({
          revisions: [commit({ revision: 2 })],
          upserts: [replaced],
          deletes: [],
          audit: [],
        });
        expect((await store.load()).settings).toEqual([replaced]);
      });

      test("custom settings come in the order of their positions", async () => {
        const upserts = ["c", "a", "b"].map((key, at) => stored({ key, position: at + 1 }));
        await write({ revisions: [commit({ revision: 1 })], upserts, deletes: [], audit: [] });
        expect((await store.load()).settings.map(({ key }) => key)).toEqual(["c", "a", "b"]);
      });

      test("one write takes thousands of settings and deletes them again", async () => {
        const keys = Array.from({ length: 3_500 }, (_, at) => `k${at}`);
        const value = "v".repeat(100);
        await write(setting(1, Object.fromEntries(keys.map((key) => [key, value]))));
        expect((await store.load()).settings).toHaveLength(3_500);
        expect((await store.commits(0, 1, 1))[0]?.changes).toHaveLength(3_500);
        await write(deleting(2, keys));
        expect((await store.load()).settings).toEqual([]);
        expect((await store.delta(1))?.deleted).toHaveLength(3_500);
      });
    });

    describe("a transaction", () => {
      test("gives back what its work gives back", async () => {
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
        expect(await store.load()).toEqual({ revision: 0, settings: [] });
        await write(setting(1, { a: "2" }));
        expect((await store.load()).settings[0]?.value).toBe("2");
      });

      test("sees its own writes and what was committed before", async () => {
        await write(setting(1, { a: "1" }));
        await store.transact(async (trx) => {
          expect(await trx.revision()).toBe(1);
          await trx.write(setting(2, { b: "2" }));
          expect((await trx.load()).settings.map(({ key }) => key)).toEqual(["a", "b"]);
          expect((await trx.delta(1))?.changed).toMatchObject([{ key: "b" }]);
        });
      });

      test("runs alone, however many are asked for at once, by one store or by several", async () => {
        const stores = [store, await open(), await open()];
        const next = (by: SettingStore) =>
          by.transact(async (trx) => {
            const revision = (await trx.revision()) + 1;
            await trx.write(setting(revision, { counter: String(revision) }));
            return revision;
          });
        const given = await Promise.all(
          Array.from({ length: 60 }, (_, at) => next(stores[at % stores.length] ?? store)),
        );
        expect(given.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, at) => at + 1));
        expect((await store.load()).settings).toMatchObject([{ value: "60", revision: 60 }]);
      });

      test("does not disturb reads that are asked for meanwhile", async () => {
        const writes = Array.from({ length: 20 }, (_, at) =>
          write(setting(at + 1, { a: `${at}` })),
        );
        const reads = Array.from({ length: 20 }, () => store.load());
        await Promise.all(writes);
        for (const state of await Promise.all(reads))
          expect(state.settings[0]?.revision ?? 0).toBe(state.revision);
      });

      test("that makes a revision which is there already is refused whole, as a StoreError", async () => {
        await write(setting(1, { a: "1" }));
        await expect(write(setting(1, { a: "2", b: "2" }))).rejects.toBeInstanceOf(StoreError);
        expect((await store.load()).settings).toMatchObject([{ key: "a", value: "1" }]);
      });
    });

    describe("a text with a NUL character", () => {
      test.each([
        ["value", setting(1, { a: "x\0y" })],
        [
          "reason",
          {
            revisions: [commit({ revision: 1, reason: "\0" })],
            upserts: [],
            deletes: [],
            audit: [],
          },
        ],
        [
          "former value",
          {
            revisions: [commit({ revision: 1, changes: [changed({ key: "a", oldValue: "\0" })] })],
            upserts: [],
            deletes: [],
            audit: [],
          },
        ],
      ])("as a %s is refused as such, whole, and the next write works", async (_what, rows) => {
        const refused = write(rows);
        await expect(refused).rejects.toBeInstanceOf(StoreError);
        await expect(refused).rejects.toThrow(/cannot store a text with a NUL character/);
        expect(await store.load()).toEqual({ revision: 0, settings: [] });
        await write(setting(1, { a: "xy" }));
      });
    });

    describe("the difference to a revision", () => {
      test("has what was set and deleted since, and each revision", async () => {
        await write(setting(1, { a: "1", b: "1", c: "1" }));
        await write(setting(2, { b: "2" }));
        await write(deleting(3, ["c"]));
        const delta = await store.delta(1);
        expect(delta).toMatchObject({ revision: 3, deleted: ["c"] });
        expect(delta?.changed).toMatchObject([{ key: "b", value: "2", revision: 2 }]);
        expect(delta?.commits?.map(({ revision }) => revision)).toEqual([2, 3]);
        expect(delta?.commits?.[1]?.changes).toEqual([changed({ key: "c", oldValue: "" })]);
      });

      test("has a key that was deleted and set again only as set", async () => {
        await write(setting(1, { a: "1" }));
        await write(deleting(2, ["a"]));
        await write(setting(3, { a: "3" }));
        expect(await store.delta(1)).toMatchObject({ changed: [{ value: "3" }], deleted: [] });
      });

      test("to a revision that is yet to come is not known", async () => {
        await write(setting(1, { a: "1" }));
        expect(await store.delta(2)).toBeUndefined();
        expect(await store.delta(1)).toMatchObject({ revision: 1, changed: [], commits: [] });
      });

      test("to a revision whose successors are not kept any more is not known", async () => {
        for (let revision = 1; revision <= 4; revision += 1)
          await write(setting(revision, { a: `${revision}` }));
        await store.compact({ count: 2, notBefore: 0 }, 100);
        expect(await store.delta(1)).toBeUndefined();
        expect((await store.delta(2))?.commits).toHaveLength(2);
      });

      test("has no list of revisions when there are too many", async () => {
        const revisions = Array.from({ length: 1_200 }, (_, at) =>
          commit({ revision: at + 1, changes: [changed({ key: "a" })] }),
        );
        const upserts = [stored({ key: "a", revision: 1_200 })];
        await write({ revisions, upserts, deletes: [], audit: [] });
        expect(await store.delta(0)).toMatchObject({ revision: 1_200, commits: undefined });
        expect((await store.delta(0))?.changed).toHaveLength(1);
        expect((await store.delta(1_000))?.commits).toHaveLength(200);
      });
    });

    describe("changedElsewhere", () => {
      test("is false for one's own commits, and the database is not away", async () => {
        await store.load();
        expect(store.awayFor()).toBe(0);
        await write(setting(1, { a: "1" }));
        expect(store.changedElsewhere()).toBe(false);
      });

      test("is true after another connection's commit until it is read, whichever way", async () => {
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
          await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true));
          expect(store.changedElsewhere()).toBe(true);
          await read();
        }
        expect(store.changedElsewhere()).toBe(false);
      });

      test("stays true when the transaction that read it came to nothing", async () => {
        const other = await open();
        await store.load();
        await write(setting(1, { a: "1" }), other);
        await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true));
        await expect(store.transact(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
        expect(store.changedElsewhere()).toBe(true);
      });

      test("stays true after reads of the history and after upkeep", async () => {
        const other = await open();
        await store.load();
        await write(setting(1, { a: "1" }), other);
        await vi.waitFor(() => expect(store.changedElsewhere()).toBe(true));
        await store.listRevisions({ limit: 1 });
        await store.commits(0, 1, 1);
        await store.compact({ count: 1, notBefore: 0 }, 10);
        await store.rewrite(() => ({ settings: [], audit: [] }));
        expect(store.changedElsewhere()).toBe(true);
      });
    });

    describe("seenEverywhere", () => {
      test("resolves once every other store knows that there is something new", async () => {
        const others = [await open(), await open()];
        for (const one of [store, ...others]) await one.load();
        await write(setting(1, { a: "1" }));
        const reading = Promise.all(
          others.map(async (other) => {
            await vi.waitFor(() => expect(other.changedElsewhere()).toBe(true));
            await other.load();
          }),
        );
        await store.seenEverywhere(1);
        for (const other of others)
          expect(other.changedElsewhere() || (await other.load()).revision === 1).toBe(true);
        await reading;
      });

      test("waits for nobody who knows it already, or has closed", async () => {
        const other = await open();
        await write(setting(1, { a: "1" }));
        await other.close();
        await store.seenEverywhere(1);
        await store.seenEverywhere(0);
      });
    });

    describe("the history", () => {
      const five = async (): Promise<void> => {
        await write(setting(1, { a: "1", b: "1" }));
        await write(setting(2, { a: "2" }, { a: "1" }));
        await write({
          revisions: [commit({ revision: 3, actor: "other" })],
          upserts: [],
          deletes: [],
          audit: [],
        });
        await write(deleting(4, ["b"]));
        await write(setting(5, { a: "5" }, { a: "2" }));
      };
      const listed = async (filter: object): Promise<number[]> =>
        (await store.listRevisions({ limit: 100, ...filter })).map(({ revision }) => revision);

      test("keeps every member of a revision and its changes", async () => {
        const one = commit({
          revision: 1,
          time: 1_700_000_000_123,
          actor: "ä",
          door: "grpc",
          method: "Rollback",
          requestId: "id",
          peer: "::1",
          reason: "because\nof it",
          changes: [
            changed({ key: "a", oldHash: "h1", newHash: "h2" }),
            changed({ key: "b", newValue: "", newDefinition: "{}" }),
          ],
        });
        await write({ revisions: [one], upserts: [], deletes: [], audit: [] });
        expect(await store.commits(0, 1, 1)).toEqual([one]);
        const { changes, ...rest } = one;
        expect(await store.listRevisions({ limit: 1 })).toEqual([
          {
            ...rest,
            changes: [
              { key: "a", oldDefinition: null, newDefinition: null },
              { key: "b", oldDefinition: null, newDefinition: "{}" },
            ],
          },
        ]);
        expect(await store.changesBetween(0, 1)).toEqual(changes);
      });

      test("is listed newest first", async () => {
        await five();
        expect(await listed({})).toEqual([5, 4, 3, 2, 1]);
        expect(await listed({ limit: 2 })).toEqual([5, 4]);
      });

      test("is filtered by what is older, key, actor and time, together", async () => {
        await five();
        expect(await listed({ before: 3 })).toEqual([2, 1]);
        expect(await listed({ key: "b" })).toEqual([4, 1]);
        expect(await listed({ key: "nobody" })).toEqual([]);
        expect(await listed({ actor: "other" })).toEqual([3]);
        expect(await listed({ since: 2_000, until: 5_000 })).toEqual([4, 3, 2]);
        expect(await listed({ key: "a", before: 5, since: 2_000, limit: 1 })).toEqual([2]);
      });

      test("is filtered by key however long it is", async () => {
        const touched = new Map([1, 1_023, 1_024, 2_500, 5_000].map((at) => [at, ["rare"]]));
        const revisions = Array.from({ length: 5_000 }, (_, at) =>
          commit({
            revision: at + 1,
            changes: ["often", ...(touched.get(at + 1) ?? [])].map((key) => changed({ key })),
          }),
        );
        await write({ revisions, upserts: [], deletes: [], audit: [] });
        expect(await listed({ key: "rare" })).toEqual([...touched.keys()].reverse());
        expect(await listed({ key: "rare", before: 2_500, limit: 2 })).toEqual([1_024, 1_023]);
        expect(await listed({ key: "often", before: 2_049, limit: 2 })).toEqual([2_048, 2_047]);
        await store.compact({ count: 2_500, notBefore: 0 }, 3_000);
        expect(await listed({ key: "rare" })).toEqual([5_000]);
      });

      test("gives the revisions of a range, oldest first, as many as are asked for", async () => {
        await five();
        const range = async (...args: [number, number, number]) =>
          (await store.commits(...args)).map(({ revision }) => revision);
        expect(await range(1, 4, 100)).toEqual([2, 3, 4]);
        expect(await range(0, 5, 2)).toEqual([1, 2]);
        expect(await range(5, 9, 100)).toEqual([]);
        expect((await store.commits(2, 3, 1))[0]?.changes).toEqual([]);
      });

      test("puts the changes of a range together, key by key", async () => {
        await five();
        expect(await store.changesBetween(0, 5)).toEqual([
          changed({ key: "a", newValue: "5" }),
          changed({ key: "b" }),
        ]);
        expect(await store.changesBetween(1, 2)).toEqual([
          changed({ key: "a", oldValue: "1", newValue: "2" }),
        ]);
        expect(await store.changesBetween(5, 5)).toEqual([]);
      });

      test("puts the changes of a long range together as those of a short one", async () => {
        const revisions = Array.from({ length: 57 }, (_, at) =>
          commit({
            revision: at + 1,
            changes: [
              changed({ key: "each", oldValue: `${at}`, newValue: `${at + 1}` }),
              ...(at % 13 === 5
                ? [changed({ key: "b", oldHash: `h${at}`, newHash: `h${at + 13}` })]
                : []),
              ...(at === 40 ? [changed({ key: "once", newValue: "40" })] : []),
            ],
          }),
        );
        await write({ revisions, upserts: [], deletes: [], audit: [] });
        expect(await store.changesBetween(0, 57)).toEqual([
          changed({ key: "b", oldHash: "h5", newHash: "h57" }),
          changed({ key: "each", oldValue: "0", newValue: "57" }),
          changed({ key: "once", newValue: "40" }),
        ]);
        expect(await store.changesBetween(19, 44)).toEqual([
          changed({ key: "b", oldHash: "h31", newHash: "h44" }),
          changed({ key: "each", oldValue: "19", newValue: "44" }),
          changed({ key: "once", newValue: "40" }),
        ]);
      });
    });

    describe("compacting", () => {
      const upTo = async (last: number): Promise<void> => {
        for (let revision = 1; revision <= last; revision += 1)
          await write(setting(revision, { a: `${revision}` }));
      };
      const kept = async (): Promise<number[]> =>
        (await store.commits(0, 1_000, 1_000)).map(({ revision }) => revision);

      test("keeps the newest ones by count, changes included, and no setting is lost", async () => {
        await upTo(6);
        expect(await store.compact({ count: 2, notBefore: 0 }, 100)).toBe(4);
        expect(await kept()).toEqual([5, 6]);
        expect(await store.oldestRevision()).toBe(5);
        expect(await store.changesBetween(0, 4)).toEqual([]);
        expect((await store.load()).settings).toMatchObject([{ value: "6" }]);
      });

      test("keeps the newer ones by age", async () => {
        await upTo(6);
        expect(await store.compact({ count: 100, notBefore: 4_000 }, 100)).toBe(3);
        expect(await kept()).toEqual([4, 5, 6]);
      });

      test("always keeps the newest, so that revisions go on from there", async () => {
        await upTo(3);
        expect(await store.compact({ count: 0, notBefore: 1e15 }, 100)).toBe(2);
        expect(await kept()).toEqual([3]);
        expect(await store.transact((trx) => trx.revision())).toBe(3);
      });

      test("goes in small steps, oldest first", async () => {
        await upTo(6);
        const steps = [];
        for (let step = 0; step < 4; step += 1) {
          steps.push(await store.compact({ count: 1, notBefore: 0 }, 2));
          steps.push(await store.oldestRevision());
        }
        expect(steps).toEqual([2, 3, 2, 5, 1, 6, 0, 6]);
      });

      test("takes a clock that went back for what it is: no hole, and nothing young is lost", async () => {
        const times = [5_000, 6_000, 1_000, 7_000, 8_000];
        for (const [at, time] of times.entries())
          await write({
            revisions: [commit({ revision: at + 1, time })],
            upserts: [],
            deletes: [],
            audit: [],
          });
        expect(await store.compact({ count: 100, notBefore: 4_000 }, 100)).toBe(0);
        expect(await kept()).toEqual([1, 2, 3, 4, 5]);
        expect(await store.compact({ count: 100, notBefore: 6_500 }, 100)).toBe(3);
        expect(await kept()).toEqual([4, 5]);
      });

      test("of an empty history does nothing", async () => {
        expect(await store.compact({ count: 0, notBefore: 1e15 }, 100)).toBe(0);
      });
    });

    describe("rewriting", () => {
      test("replaces a value without a revision, and gives back what is stored then", async () => {
        await write(setting(1, { a: "plain", b: "b" }));
        const state = await store.rewrite((settings) => {
          expect(settings).toMatchObject([{ key: "a", value: "plain" }, { key: "b" }]);
          const sealed = settings.slice(0, 1).map((one) => ({ ...one, value: "sealed" }));
          return { settings: sealed, audit: [entry({ method: "seal", subjects: ["a"] })] };
        });
        expect(state).toMatchObject({
          revision: 1,
          settings: [
            { key: "a", value: "sealed", revision: 1 },
            { key: "b", value: "b" },
          ],
        });
        expect(await store.load()).toEqual(state);
        expect(await store.changesBetween(0, 1)).toMatchObject([
          { key: "a", newValue: "plain" },
          { key: "b" },
        ]);
      });

      test("is done on what is stored at that moment, whoever saves meanwhile", async () => {
        await write(setting(1, { a: "old" }));
        const other = await open();
        const writes = Array.from({ length: 10 }, (_, at) =>
          write(setting(at + 2, { a: `new ${at}` }), other),
        );
        const seal = (value: string) => (value.startsWith("sealed") ? value : `sealed ${value}`);
        const rewritten = await store.rewrite((settings) => ({
          settings: settings.map((one) => ({ ...one, value: seal(one.value) })),
          audit: [],
        }));
        const { revision } = rewritten;
        expect(rewritten.settings[0]?.value).toBe(
          revision === 1 ? "sealed old" : `sealed new ${revision - 2}`,
        );
        await Promise.all(writes);
      });

      test("that throws changes nothing", async () => {
        await write(setting(1, { a: "1" }));
        const refused = new Error("no");
        const rewriting = store.rewrite(() => {
          throw refused;
        });
        await expect(rewriting).rejects.toBe(refused);
        expect((await store.load()).settings).toMatchObject([{ value: "1" }]);
      });
    });

    describe("a turn", () => {
      test("is one caller's in each interval, whoever asks", async () => {
        const other = await open();
        const claims = [store, other, store, other].map((by) =>
          by.claimTurn("sweep", 1_000, 5_000),
        );
        expect((await Promise.all(claims)).filter(Boolean)).toHaveLength(1);
        expect(await other.claimTurn("sweep", 1_000, 5_999)).toBe(false);
        expect(await other.claimTurn("sweep", 1_000, 6_000)).toBe(true);
        expect(await store.claimTurn("another", 1_000, 6_000)).toBe(true);
      });

      test("comes once, and then by the new time, when the clock jumps either way", async () => {
        for (const now of [5_000, 1e15, 3_000]) {
          expect(await store.claimTurn("sweep", 1_000, now)).toBe(true);
          expect(await store.claimTurn("sweep", 1_000, now + 999)).toBe(false);
        }
      });
    });

    describe("the database's own facts", () => {
      test("an id and a key, the same at every opening", async () => {
        const other = await open();
        expect(store.databaseId).toMatch(/^[\w-]{8,}$/);
        expect(other.databaseId).toBe(store.databaseId);
        expect(store.fingerprintKey).toHaveLength(32);
        expect(other.fingerprintKey).toEqual(store.fingerprintKey);
      });

      test("differ from database to database", async () => {
        const elsewhere = await newPlace();
        const other = await elsewhere.open();
        expect(other.databaseId).not.toBe(store.databaseId);
        expect(other.fingerprintKey).not.toEqual(store.fingerprintKey);
        await other.close();
        await elsewhere.remove();
      });

      test("are agreed on by those who open a new database at the same time", async () => {
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
        () => store.rewrite(() => ({ settings: [], audit: [] })),
        () => store.compact({ count: 1, notBefore: 0 }, 1),
        () => store.rehash({ form: "hmac2:", renew: (hash) => hash, audit: () => [] }),
        () => store.eraseReplaced(),
        () => store.claimTurn("sweep", 1, 1),
        () => store.seenEverywhere(1),
        async () => store.changedElsewhere(),
      ];
      for (const call of calls) await expect(call()).rejects.toBeInstanceOf(StoreError);
    });
  });
}
