// Cost of requests, counted in queries and items: the largest and the most repetitive form.
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import type { LedgerStore } from "../../src/ledger/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { restore, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

/** Counts the queries of the store's history, by the name of the method. */
function counting() {
  const queries: string[] = [];
  const wrap = (store: LedgerStore): LedgerStore =>
    new Proxy(store, {
      get: (target, name: keyof LedgerStore) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function") return member;
        return (...args: unknown[]) => {
          queries.push(name);
          return member.apply(target, args);
        };
      },
    });
  return { queries, wrap };
}

const many = <T>(count: number, make: (at: number) => T): T[] =>
  Array.from({ length: count }, (_, at) => make(at));

describe("a rollback of many keys", () => {
  test("looks up deleted keys in one query, also repeated ones", async () => {
    const { queries, wrap } = counting();
    const parts = await testParts(newPath(), { wrap });
    const custom = many(300, (at) => ({ key: `gone_${at}`, value: "v", flag: 3 }));
    await parts.settings.save(custom, tester);
    for (const { key } of custom) await parts.settings.delete(key, tester);
    queries.length = 0;
    const keys = many(1_000, (at) => `gone_${at % 300}`);
    const { commit } = await restore(parts, 1, keys, { dryRun: true });
    expect(commit?.changes).toHaveLength(300);
    expect(queries.filter((name) => name === "knownKeys").length).toBeLessThanOrEqual(1);
    expect(queries).not.toContain("listRevisions");
  });

  test("accepts at most 1,000, and reads nothing for more", async () => {
    const { queries, wrap } = counting();
    const parts = await testParts(newPath(), { wrap });
    queries.length = 0;
    const keys = many(99_990, () => "gone");
    const failure = await failureOf(() => restore(parts, 0, keys, { dryRun: true }));
    expect(failure).toMatchObject({ code: Code.InvalidArgument });
    expect(failure.message).toContain("1000");
    expect(queries).toEqual([]);
  });
});

describe("a page of settings with as many revisions", () => {
  test("is compared with the history in one pass", async () => {
    const { queries, wrap } = counting();
    const parts = await testParts(newPath(), { wrap });
    const keys = many(50, (at) => `mine_${at}`);
    for (const key of keys) await save(parts, { [key]: "first" });
    const page = keys.map((key) => {
      const item = parts.settings.get(key);
      return { key, value: item.value, seenEtag: parts.settings.etagOf(item) };
    });
    const since = keys.map((key) => ({ key, value: "since" }));
    await parts.settings.save(since, { ...tester, actor: "other" });
    await save(parts, { another: "and again" });
    queries.length = 0;
    const { commit } = await parts.settings.save(page, tester);
    expect(commit).toBeUndefined();
    expect(queries).not.toContain("firstChanges");
    expect(queries.filter((name) => name === "lastChangesBy")).toHaveLength(1);
    expect(queries).not.toContain("changesBetween");
  });
});
