import { describe, expect, test } from "vitest";
import type { AccessStore, AccessTransaction } from "../../src/access/store.ts";
import { samplePrincipal, sampleToken } from "../access/sample.ts";
import { type PlaceOf, placeForEach } from "./place.ts";

const none = { principals: [], tokens: [] };

type AccessPlace = PlaceOf<{ readonly access: AccessStore; close(): Promise<void> }>;

/** Contract of every store of principals and tokens. */
export function describeAccessStore(name: string, newPlace: () => Promise<AccessPlace>): void {
  describe(name, () => describeAccess(newPlace));
}

/** Writes these rows in a transaction of their own. */
const write = (store: AccessStore, rows: Partial<Parameters<AccessTransaction["write"]>[0]>) =>
  store.transact((trx) => trx.write({ audit: [], ...rows }));

function describeAccess(newPlace: () => Promise<AccessPlace>): void {
  const { store, open } = placeForEach(newPlace);
  const withTwo = async (work: (one: AccessStore, other: AccessStore) => Promise<void>) =>
    work(store.access, (await open()).access);

  test("rows are read as written, and later only changed ones", () =>
    withTwo(async (one, other) => {
      expect(await one.news(0)).toEqual({ version: 0, isWhole: false, ...none });
      await write(one, {
        principals: [principal("p")],
        tokens: [storedToken("a"), storedToken("b")],
      });
      const news = await other.news(0);
      expect(news).toMatchObject({ version: 1, principals: [principal("p")] });
      expect(news.tokens).toEqual(expect.arrayContaining([storedToken("a"), storedToken("b")]));
      const ended = {
        ...storedToken("a"),
        revokedAt: 5,
        revokedBy: "x",
        notAfter: 7,
        replacedBy: "b",
      };
      await write(one, { tokens: [ended] });
      expect(await other.news(1)).toEqual({
        version: 2,
        isWhole: false,
        principals: [],
        tokens: [ended],
      });
      expect(await other.news(2)).toEqual({ version: 2, isWhole: false, ...none });
      // A version beyond the newest one returns all rows.
      expect(await other.news(9)).toMatchObject({ version: 2, isWhole: true });
      expect((await other.news(9)).tokens).toHaveLength(2);
    }));

  test("a failed change writes nothing, and a transaction sees its own writes", () =>
    withTwo(async (one, other) => {
      const failing = one.transact(async (trx) => {
        await trx.write({ tokens: [storedToken("a")], audit: [] });
        throw new Error("no");
      });
      await expect(failing).rejects.toThrow("no");
      await write(one, { principals: [principal("p")], tokens: [storedToken("a")] });
      await other.transact(async (trx) => {
        expect(await trx.principalNamed("name p")).toEqual(principal("p"));
        expect(await trx.principal("p")).toEqual(principal("p"));
        expect(await trx.token("a")).toEqual(storedToken("a"));
        expect(await trx.token("b")).toBe(undefined);
        expect(await trx.tokenCount()).toBe(1);
      });
      expect((await one.news(0)).version).toBe(1);
    }));

  test("once a version is seen everywhere, every other process has detected the change", () =>
    withTwo(async (one, other) => {
      await one.news(0);
      await other.news(0);
      for (let version = 1; version <= 5; version += 1) {
        await write(one, { tokens: [storedToken(`t${version}`)] });
        expect((await one.news(version - 1)).version).toBe(version);
        await one.seenEverywhere(version);
        expect(other.changedElsewhere()).toBe(true);
        expect((await other.news(version - 1)).tokens).toEqual([storedToken(`t${version}`)]);
      }
    }));

  test("the last use of each token is stored, and is no change", () =>
    withTwo(async (one, other) => {
      await one.recordUses([{ tokenId: "a", time: 1, peer: "::1" }]);
      await one.recordUses([
        { tokenId: "a", time: 2, peer: "192.0.2.1" },
        { tokenId: "b", time: 3, peer: "" },
      ]);
      const uses = [...(await other.uses(["a", "b", "c"]))].sort((a, b) => a.time - b.time);
      expect(await other.uses(["b"])).toEqual([{ tokenId: "b", time: 3, peer: "" }]);
      expect(uses).toEqual([
        { tokenId: "a", time: 2, peer: "192.0.2.1" },
        { tokenId: "b", time: 3, peer: "" },
      ]);
      expect((await other.news(0)).version).toBe(0);
    }));

  test("the last uses of the same tokens are stored at the same time, in any order", () =>
    withTwo(async (one, other) => {
      const uses = Array.from({ length: 500 }, (_, at) => ({
        tokenId: `t${at}`,
        time: 1,
        peer: "",
      }));
      await one.recordUses(uses);
      await Promise.all([one.recordUses(uses), other.recordUses(uses.toReversed())]);
      expect(await one.uses(["t0"])).toEqual([uses[0]]);
    }));

  test("ended tokens are recorded by counted time, and deleted ones are removed", () =>
    withTwo(async (one, other) => {
      const tokens = [
        storedToken("a"),
        { ...storedToken("b"), revokedAt: 5, revokedBy: "x" },
        { ...storedToken("c"), expiresAt: 20 },
        { ...storedToken("d"), notAfter: 30 },
      ];
      const principals = [principal("p")];
      await write(one, { principals, tokens });
      await other.news(0);
      const noted = async (): Promise<string[]> => {
        const found = await one.transact((trx) => trx.endedBefore(1_000, 10));
        return found.map(({ id }) => id).sort();
      };
      expect([await one.countEnded(10, 7), await noted()]).toEqual([7, ["b"]]);
      expect([await other.countEnded(30, 7), await noted()]).toEqual([14, ["b", "c", "d"]]);
      // The clock was wrong: the token that it ended is valid again.
      expect([await one.countEnded(10, 7), await noted()]).toEqual([21, ["b"]]);
      expect(await one.transact((trx) => trx.endedBefore(6, 10))).toEqual([]);
      expect(await one.transact((trx) => trx.endedBefore(7, 10))).toEqual([tokens[1]]);
      // No change as long as the tokens themselves are not written.
      expect(await other.news(1)).toEqual({ version: 1, isWhole: false, ...none });
      await write(one, { forgotten: ["b"] });
      const news = await other.news(1);
      expect(news).toMatchObject({ version: 2, isWhole: true, principals });
      expect(news.tokens.map(({ id }) => id).sort()).toEqual(["a", "c", "d"]);
      expect(await other.news(2)).toEqual({ version: 2, isWhole: false, ...none });
      await write(one, { tokens: [storedToken("e")] });
      expect(await other.news(2)).toMatchObject({ version: 3, isWhole: false });
      await write(one, { principals: [{ ...principal("p"), disabledAt: 3 }] });
      await one.countEnded(10, 7);
      expect(await noted()).toEqual(["a", "c", "d", "e"]);
    }));

  test("versions written at the same time are consecutive", () =>
    withTwo(async (one, other) => {
      const names = Array.from({ length: 20 }, (_, at) => `t${at}`);
      await Promise.all(
        names.map((name, at) => write(at % 2 === 0 ? one : other, { tokens: [storedToken(name)] })),
      );
      const { version, tokens } = await one.news(0);
      expect(version).toBe(20);
      expect(tokens.map(({ id }) => id).sort()).toEqual([...names].sort());
    }));

  test("changes of one token at the same time are all kept", () =>
    withTwo(async (one, other) => {
      await write(one, { tokens: [storedToken("a")] });
      const extend = (store: AccessStore) =>
        store.transact(async (trx) => {
          const found = (await trx.token("a")) ?? storedToken("a");
          await trx.write({ tokens: [{ ...found, limits: [...found.limits, "x"] }], audit: [] });
        });
      await Promise.all(Array.from({ length: 20 }, (_, at) => extend(at % 2 === 0 ? one : other)));
      expect((await one.news(0)).tokens[0]?.limits).toHaveLength(21);
    }));

  test("a principal that is created at the same time by others exists for all but one", () =>
    withTwo(async (one, other) => {
      const create = (store: AccessStore, id: string) =>
        store.transact(async (trx) => {
          if ((await trx.principalNamed("bot")) !== undefined) return false;
          await trx.write({ principals: [{ ...principal(id), name: "bot" }], audit: [] });
          return true;
        });
      const made = await Promise.all(
        ["a", "b", "c", "d"].map((id, at) => create(at % 2 === 0 ? one : other, id)),
      );
      expect(made.filter(Boolean)).toHaveLength(1);
    }));
}

const principal = (id: string) =>
  samplePrincipal({ id, name: `name ${id}`, kind: "person", createdAt: 9, createdBy: "x" });

export const storedToken = (id: string) =>
  sampleToken({
    id,
    limits: ["key:a*"],
    comment: "for a test",
    createdAt: 1_700_000_000_000,
    expiresAt: 1_800_000_000_000,
  });
