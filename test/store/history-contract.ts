import { describe, expect, test } from "vitest";
import { entry } from "./audit-contract.ts";
import type { OpenStore } from "./contract.ts";
import { changed, commit, deleting, KIND, named, setting, stored, writing } from "./sample.ts";

/** Part of the contract about revisions: differences, history, compaction, rewriting. */
export function describeHistory(at: OpenStore): void {
  const { open, write } = at;

  describe("the difference to a revision", () => {
    test("has the settings that were set and deleted since, and each revision", async () => {
      await write(setting(1, { a: "1", b: "1", c: "1" }));
      await write(setting(2, { b: "2" }));
      await write(deleting(3, ["c"]));
      const delta = await at.store.delta(1);
      expect(delta).toMatchObject({ revision: 3, deleted: named("c") });
      expect(delta?.changed).toMatchObject([{ key: "b", body: "2", revision: 2 }]);
      expect(delta?.commits?.map(({ revision }) => revision)).toEqual([2, 3]);
      expect(delta?.commits?.[1]?.changes).toEqual([changed({ key: "c", oldBody: "" })]);
    });

    test("has a key that was deleted and set again only as set", async () => {
      await write(setting(1, { a: "1" }));
      await write(deleting(2, ["a"]));
      await write(setting(3, { a: "3" }));
      expect(await at.store.delta(1)).toMatchObject({ changed: [{ body: "3" }], deleted: [] });
    });

    test("to a revision that does not exist yet is undefined", async () => {
      await write(setting(1, { a: "1" }));
      expect(await at.store.delta(2)).toBeUndefined();
      expect(await at.store.delta(1)).toMatchObject({ revision: 1, changed: [], commits: [] });
    });

    test("to a revision whose successors are not kept any more is undefined", async () => {
      for (let revision = 1; revision <= 4; revision += 1)
        await write(setting(revision, { a: `${revision}` }));
      await at.store.compact({ count: 2, notBefore: 0 }, 100);
      expect(await at.store.delta(1)).toBeUndefined();
      expect((await at.store.delta(2))?.commits).toHaveLength(2);
    });

    test("has no list of revisions when there are too many", async () => {
      const revisions = Array.from({ length: 1_200 }, (_, at) =>
        commit({ revision: at + 1, changes: [changed({ key: "a" })] }),
      );
      const upserts = [stored({ key: "a", revision: 1_200 })];
      await write(writing({ revisions, upserts }));
      expect(await at.store.delta(0)).toMatchObject({ revision: 1_200, commits: undefined });
      expect((await at.store.delta(0))?.changed).toHaveLength(1);
      expect((await at.store.delta(1_000))?.commits).toHaveLength(200);
    });
  });

  describe("the history", () => {
    const five = async (): Promise<void> => {
      await write(setting(1, { a: "1", b: "1" }));
      await write(setting(2, { a: "2" }, { a: "1" }));
      await write(writing({ revisions: [commit({ revision: 3, actor: "other" })] }));
      await write(deleting(4, ["b"]));
      await write(setting(5, { a: "5" }, { a: "2" }));
    };
    const listed = async (filter: object): Promise<number[]> =>
      (await at.store.listRevisions({ limit: 100, ...filter })).map(({ revision }) => revision);

    test("has the first change of a key after a revision, and the last one by an actor", async () => {
      await five();
      const changes = [changed({ key: "a", newBody: "6" }), changed({ key: "c", newBody: "1" })];
      await write(writing({ revisions: [commit({ revision: 6, actor: "other", changes })] }));
      const asked = [
        { key: "a", after: 1 },
        { key: "b", after: 4 },
        { key: "c", after: 0 },
        { key: "d", after: 0 },
      ];
      const first = await at.store.firstChanges(KIND, asked, 6);
      expect(first.map(({ key, change: { newBody } }) => [key, newBody])).toEqual([
        ["a", "2"],
        ["c", "1"],
      ]);
      const last = async (actor: string, upTo = 6) =>
        Object.fromEntries(await at.store.lastChangesBy(KIND, actor, asked, upTo));
      expect(await last("admin")).toEqual({ a: 5 });
      expect(await last("admin", 4)).toEqual({ a: 2 });
      expect(await last("other")).toEqual({ a: 6, c: 6 });
      expect(await last("nobody")).toEqual({});
      expect(await at.store.lastChangesBy(KIND, "admin", [], 6)).toEqual(new Map());
    });

    test("has every member of a revision and its changes", async () => {
      const one = commit({
        revision: 1,
        time: 1_700_000_000_123,
        actor: "ä",
        transport: "grpc",
        method: "Rollback",
        requestId: "id",
        peer: "::1",
        reason: "because\nof it",
        changes: [
          changed({ key: "a", oldHashes: { p: "h1", q: "h3" }, newHashes: { p: "h2" } }),
          changed({ key: "b", newBody: "", newAttributes: "{}" }),
        ],
      });
      await write({ revisions: [one], upserts: [], deletes: [], audit: [] });
      expect(await at.store.commits(0, 1, 1)).toEqual([one]);
      const { changes, ...rest } = one;
      expect(await at.store.listRevisions({ limit: 1 })).toEqual([
        {
          ...rest,
          changes: [
            { kind: KIND, key: "a", oldAttributes: null, newAttributes: null },
            { kind: KIND, key: "b", oldAttributes: null, newAttributes: "{}" },
          ],
        },
      ]);
      expect(await at.store.changesBetween(0, 1)).toEqual(changes);
    });

    test("is listed newest first", async () => {
      await five();
      expect(await listed({})).toEqual([5, 4, 3, 2, 1]);
      expect(await listed({ limit: 2 })).toEqual([5, 4]);
    });

    test("is filtered by revision, key, actor and time, together", async () => {
      await five();
      expect(await listed({ before: 3 })).toEqual([2, 1]);
      expect(await listed({ record: { kind: KIND, key: "b" } })).toEqual([4, 1]);
      expect(await listed({ record: { kind: KIND, key: "nobody" } })).toEqual([]);
      expect(await listed({ actor: "other" })).toEqual([3]);
      expect(await listed({ since: 2_000, until: 5_000 })).toEqual([4, 3, 2]);
      expect(
        await listed({ record: { kind: KIND, key: "a" }, before: 5, since: 2_000, limit: 1 }),
      ).toEqual([2]);
    });

    test("is filtered by a key of any length", async () => {
      const touched = new Map([1, 1_023, 1_024, 2_500, 5_000].map((at) => [at, ["rare"]]));
      const revisions = Array.from({ length: 5_000 }, (_, at) =>
        commit({
          revision: at + 1,
          changes: ["often", ...(touched.get(at + 1) ?? [])].map((key) => changed({ key })),
        }),
      );
      await write(writing({ revisions }));
      expect(await listed({ record: { kind: KIND, key: "rare" } })).toEqual(
        [...touched.keys()].reverse(),
      );
      expect(
        await listed({ record: { kind: KIND, key: "rare" }, before: 2_500, limit: 2 }),
      ).toEqual([1_024, 1_023]);
      expect(
        await listed({ record: { kind: KIND, key: "often" }, before: 2_049, limit: 2 }),
      ).toEqual([2_048, 2_047]);
      await at.store.compact({ count: 2_500, notBefore: 0 }, 3_000);
      expect(await listed({ record: { kind: KIND, key: "rare" } })).toEqual([5_000]);
    });

    test("returns the revisions of a range, oldest first, up to the requested number", async () => {
      await five();
      const range = async (...args: [number, number, number]) =>
        (await at.store.commits(...args)).map(({ revision }) => revision);
      expect(await range(1, 4, 100)).toEqual([2, 3, 4]);
      expect(await range(0, 5, 2)).toEqual([1, 2]);
      expect(await range(5, 9, 100)).toEqual([]);
      expect((await at.store.commits(2, 3, 1))[0]?.changes).toEqual([]);
    });

    test("combines the changes of a range by key", async () => {
      await five();
      expect(await at.store.changesBetween(0, 5)).toEqual([
        changed({ key: "a", newBody: "5" }),
        changed({ key: "b" }),
      ]);
      expect(await at.store.changesBetween(1, 2)).toEqual([
        changed({ key: "a", oldBody: "1", newBody: "2" }),
      ]);
      expect(await at.store.changesBetween(5, 5)).toEqual([]);
      expect(await at.store.changesBetween(0, 5, KIND)).toHaveLength(2);
      expect(await at.store.changesBetween(0, 5, "other")).toEqual([]);
    });

    test("combines the changes of a long range like those of a short one", async () => {
      const revisions = Array.from({ length: 57 }, (_, at) =>
        commit({
          revision: at + 1,
          changes: [
            changed({ key: "each", oldBody: `${at}`, newBody: `${at + 1}` }),
            ...(at % 13 === 5
              ? [changed({ key: "b", oldHashes: { p: `h${at}` }, newHashes: { p: `h${at + 13}` } })]
              : []),
            ...(at === 40 ? [changed({ key: "once", newBody: "40" })] : []),
          ],
        }),
      );
      await write(writing({ revisions }));
      expect(await at.store.changesBetween(0, 57)).toEqual([
        changed({ key: "b", oldHashes: { p: "h5" }, newHashes: { p: "h57" } }),
        changed({ key: "each", oldBody: "0", newBody: "57" }),
        changed({ key: "once", newBody: "40" }),
      ]);
      expect(await at.store.changesBetween(19, 44)).toEqual([
        changed({ key: "b", oldHashes: { p: "h31" }, newHashes: { p: "h44" } }),
        changed({ key: "each", oldBody: "19", newBody: "44" }),
        changed({ key: "once", newBody: "40" }),
      ]);
    });
  });

  describe("compacting", () => {
    const upTo = async (last: number): Promise<void> => {
      for (let revision = 1; revision <= last; revision += 1)
        await write(setting(revision, { a: `${revision}` }));
    };
    const kept = async (): Promise<number[]> =>
      (await at.store.commits(0, 1_000, 1_000)).map(({ revision }) => revision);

    test("keeps the newest ones by count, with their changes, and deletes no setting", async () => {
      await upTo(6);
      expect(await at.store.compact({ count: 2, notBefore: 0 }, 100)).toBe(4);
      expect(await kept()).toEqual([5, 6]);
      expect(await at.store.oldestRevision()).toBe(5);
      expect(await at.store.changesBetween(0, 4)).toEqual([]);
      expect((await at.store.load()).records).toMatchObject([{ body: "6" }]);
    });

    test("keeps the newer ones by age", async () => {
      await upTo(6);
      expect(await at.store.compact({ count: 100, notBefore: 4_000 }, 100)).toBe(3);
      expect(await kept()).toEqual([4, 5, 6]);
    });

    test("always keeps the newest, so that revisions continue from there", async () => {
      await upTo(3);
      expect(await at.store.compact({ count: 0, notBefore: 1e15 }, 100)).toBe(2);
      expect(await kept()).toEqual([3]);
      expect(await at.store.transact((trx) => trx.revision())).toBe(3);
    });

    test("deletes in small steps, oldest first", async () => {
      await upTo(6);
      const steps = [];
      for (let step = 0; step < 4; step += 1) {
        steps.push(await at.store.compact({ count: 1, notBefore: 0 }, 2));
        steps.push(await at.store.oldestRevision());
      }
      expect(steps).toEqual([2, 3, 2, 5, 1, 6, 0, 6]);
    });

    test("handles a clock that was set back: no gap, and no recent revision is deleted", async () => {
      const times = [5_000, 6_000, 1_000, 7_000, 8_000];
      for (const [at, time] of times.entries())
        await write(writing({ revisions: [commit({ revision: at + 1, time })] }));
      expect(await at.store.compact({ count: 100, notBefore: 4_000 }, 100)).toBe(0);
      expect(await kept()).toEqual([1, 2, 3, 4, 5]);
      expect(await at.store.compact({ count: 100, notBefore: 6_500 }, 100)).toBe(3);
      expect(await kept()).toEqual([4, 5]);
    });

    test("during a read of the history leaves no revision without its changes", async () => {
      await upTo(6);
      const [commits, revisions] = await Promise.all([
        at.store.commits(0, 6, 6),
        at.store.listRevisions({ limit: 6 }),
        at.store.compact({ count: 2, notBefore: 0 }, 100),
      ]);
      for (const found of [commits, revisions]) {
        expect(found.length).toBeGreaterThanOrEqual(2);
        expect(found.filter(({ changes }) => changes.length === 0)).toEqual([]);
      }
    });

    test("of an empty history does nothing", async () => {
      expect(await at.store.compact({ count: 0, notBefore: 1e15 }, 100)).toBe(0);
    });
  });

  describe("rewriting", () => {
    test("replaces a value without a revision, and returns the stored value", async () => {
      await write(setting(1, { a: "plain", b: "b" }));
      const state = await at.store.rewrite((settings) => {
        expect(settings).toMatchObject([{ key: "a", body: "plain" }, { key: "b" }]);
        const sealed = settings.slice(0, 1).map((one) => ({ ...one, body: "sealed" }));
        return { records: sealed, audit: [entry({ method: "seal", subjects: ["a"] })] };
      });
      expect(state).toMatchObject({
        revision: 1,
        records: [
          { key: "a", body: "sealed", revision: 1 },
          { key: "b", body: "b" },
        ],
      });
      expect(await at.store.load()).toEqual(state);
      expect(await at.store.changesBetween(0, 1)).toMatchObject([
        { key: "a", newBody: "plain" },
        { key: "b" },
      ]);
    });

    test("applies to the values stored at that moment, with any concurrent saves", async () => {
      await write(setting(1, { a: "old" }));
      const other = await open();
      const writes = Array.from({ length: 10 }, (_, at) =>
        write(setting(at + 2, { a: `new ${at}` }), other),
      );
      const seal = (body: string | null) => (body?.startsWith("sealed") ? body : `sealed ${body}`);
      const rewritten = await at.store.rewrite((settings) => ({
        records: settings.map((one) => ({ ...one, body: seal(one.body) })),
        audit: [],
      }));
      const { revision } = rewritten;
      expect(rewritten.records[0]?.body).toBe(
        revision === 1 ? "sealed old" : `sealed new ${revision - 2}`,
      );
      await Promise.all(writes);
    });

    test("that throws changes nothing", async () => {
      await write(setting(1, { a: "1" }));
      const refused = new Error("no");
      const rewriting = at.store.rewrite(() => {
        throw refused;
      });
      await expect(rewriting).rejects.toBe(refused);
      expect((await at.store.load()).records).toMatchObject([{ body: "1" }]);
    });
  });
}
