import { Kysely } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAccessStore } from "../../src/access/query.ts";
import type { AccessTransaction } from "../../src/access/store.ts";
import type { Database } from "../../src/database/schema.ts";
import { createSqliteDialect } from "../../src/database/sqlite/dialect.ts";
import { openSqlite } from "../../src/database/sqlite/open.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { samplePrincipal } from "./sample.ts";

const newPath = temporaryPaths();

/** The store on a connection of its own, and the callbacks that it calls. */
async function opened() {
  const path = newPath();
  await (await openSqliteStore(path)).close();
  const dialect = createSqliteDialect(await openSqlite(path));
  const db = new Kysely<Database>({ dialect });
  onTestFinished(() => db.destroy());
  const reading = { isAnew: false, done: vi.fn() };
  const [check, committed] = [vi.fn(), vi.fn()];
  const store = createAccessStore({
    db,
    check,
    committed,
    attempt: (work) => work(),
    changedElsewhere: () => false,
    reading: () => reading,
    seenEverywhere: async () => undefined,
    append: async () => undefined,
  });
  const write = (rows: Partial<Parameters<AccessTransaction["write"]>[0]> = {}) =>
    store.transact((trx) => trx.write({ audit: [], ...rows }));
  return { store, reading, check, committed, write };
}

const principal = (id: string) => samplePrincipal({ id, name: id });

test("a commit with writes is reported with its version, and one without writes is not", async () => {
  const { store, committed, write } = await opened();
  expect(await write()).toBe(1);
  expect(committed.mock.calls).toEqual([[1]]);
  expect(await store.transact(async (trx) => trx.tokenCount())).toBe(0);
  expect(committed).toHaveBeenCalledOnce();
});

test("each write checks first that the database is writable", async () => {
  const { store, check, write } = await opened();
  check.mockImplementation(() => {
    throw new Error("replaced");
  });
  const use = { tokenId: "a", time: 1, peer: "" };
  for (const attempt of [write, () => store.countEnded(1, 1), () => store.recordUses([use])])
    await expect((async () => attempt())()).rejects.toThrow("replaced");
  await store.recordUses([]);
  expect(await store.uses(["a"])).toEqual([]);
  expect(await store.news(0)).toMatchObject({ version: 0 });
});

test("news() has all rows while the database is read anew, and reports each version that was read", async () => {
  const { store, reading, write } = await opened();
  await write({ principals: [principal("a")] });
  await write({ principals: [principal("b")] });
  const news = async (after: number) => {
    const { version, isWhole, principals } = await store.news(after);
    expect(reading.done).toHaveBeenLastCalledWith(version);
    return [version, isWhole, principals.map(({ id }) => id).join("")];
  };
  expect(await news(1)).toEqual([2, false, "b"]);
  reading.isAnew = true;
  expect(await news(1)).toEqual([2, true, "ab"]);
  expect(await news(2)).toEqual([2, true, "ab"]);
});
