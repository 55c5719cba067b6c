/** What the engine does on a database that several instances share. */
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import type { SettingStore } from "../../src/settings/store.ts";
import { failureOf } from "../backup/setting.ts";
import { temporaryPaths } from "../store/folder.ts";
import { save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

/** A store some of whose methods are others. */
const wrapped =
  (methods: (store: SettingStore) => Partial<SettingStore>) =>
  (store: SettingStore): SettingStore =>
    Object.create(store, Object.getOwnPropertyDescriptors(methods(store)));

const unsure = () => Promise.reject(new StoreError("unsure", "the database did not answer"));
const away = () => Promise.reject(new StoreError("away", "the database is down"));

describe("a database that can't be asked", () => {
  test("answers from memory when the server is down: no other process has changed anything", async () => {
    const failures: unknown[] = [];
    const parts = await testParts(newPath(), {
      wrap: wrapped(() => ({ changedElsewhere: () => true, delta: away })),
      onReadFailure: (error) => failures.push(error),
    });
    await save(parts, { site_title: "Harbour" });
    expect((await parts.engine.fresh()).get("site_title")?.value).toBe("Harbour");
    expect(failures).toMatchObject([{ failure: "away" }]);
  });

  test("admits no call when the server does not answer: others may have ended a right", async () => {
    const parts = await testParts(newPath(), {
      wrap: wrapped(() => ({ changedElsewhere: () => true, delta: unsure })),
    });
    const failure = await failureOf(async () => parts.engine.fresh());
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(/^the state of this token cannot be determined at the moment/);
  });

  test("reports an unknown outcome, not a failed save", async () => {
    const parts = await testParts(newPath(), { wrap: wrapped(() => ({ transact: unsure })) });
    const failure = await failureOf(() => save(parts, { site_title: "x" }));
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(
      /^it is unknown whether this was saved; read it before you retry/,
    );
  });
});

describe("a right that ends", () => {
  test("has ended everywhere at the reply, and other saves wait for no process", async () => {
    const order: string[] = [];
    const parts = await testParts(newPath(), {
      wrap: wrapped(() => ({
        seenEverywhere: async (revision) => {
          order.push(`asked for ${revision}`);
          await Promise.resolve();
          order.push("seen");
        },
      })),
    });
    await save(parts, { site_title: "Harbour" });
    expect(order).toEqual([]);
    await parts.settings.resetToken(tester);
    order.push("answered");
    expect(order).toEqual(["asked for 2", "seen", "answered"]);
    await save(parts, { token: "t".repeat(40) });
    expect(order.slice(3)).toEqual(["asked for 3", "seen"]);
  });

  test("and may not have ended everywhere is UNAVAILABLE, and says that it was saved", async () => {
    const parts = await testParts(newPath(), { wrap: wrapped(() => ({ seenEverywhere: unsure })) });
    const before = parts.settings.get("token").value;
    const failure = await failureOf(() => parts.settings.resetToken(tester));
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(/^it was saved, but another instance may still accept the old/);
    expect(parts.settings.get("token").value).not.toBe(before);
  });
});

test("another database under the same address ends every watch, whatever its revision", async () => {
  let databaseId = "one";
  let isOther = false;
  const parts = await testParts(newPath(), {
    wrap: wrapped((store) => ({
      get databaseId() {
        return databaseId;
      },
      changedElsewhere: () => isOther,
      delta: (after) => (isOther ? Promise.resolve(undefined) : store.delta(after)),
    })),
  });
  await save(parts, { site_title: "Harbour" });
  const { signal } = new AbortController();
  const told = failureOf(() => parts.feed.read(1, signal)[Symbol.asyncIterator]().next());
  [databaseId, isOther] = ["two", true];
  expect(await parts.engine.fresh()).toMatchObject({ revision: 1 });
  expect(await told).toMatchObject({ code: Code.Unavailable });
});
