import { describe, expect, test } from "vitest";
import { openSqliteSettingStore } from "../../src/store/sqlite-setting-store.ts";
import { describeSettingStore } from "./contract.ts";
import { temporaryPaths } from "./folder.ts";
import { setting } from "./sample.ts";

const newPath = temporaryPaths();

describeSettingStore("the setting store on SQLite", async () => {
  const path = newPath();
  return { open: () => openSqliteSettingStore(path), remove: async () => undefined };
});

describe("the setting store in memory", () => {
  test("lives as long as it is open, and never changes elsewhere", async () => {
    const store = await openSqliteSettingStore(":memory:");
    await store.transact((trx) => trx.write(setting(1, { a: "1" })));
    expect(await store.load()).toMatchObject({ revision: 1 });
    expect(store.changedElsewhere()).toBe(false);
    await store.close();
  });
});
