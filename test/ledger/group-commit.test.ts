import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { createGrant } from "../../src/access/grant.ts";
import type { Draft } from "../../src/ledger/draft.ts";
import type { LedgerStore } from "../../src/ledger/store.ts";
import { MOUNTS } from "../../src/mounts/kind.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { rightsOf } from "../../src/settings/rights.ts";
import { type Parts, save, tester, testParts } from "../settings/parts.ts";
import { customItem, sampleMount } from "../settings/staged.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();

const change = <T>({ ledger }: Parts, decide: (draft: Draft) => T) => ledger.change(tester, decide);

/** A store that counts its transactions and reads. */
function counted() {
  const counts = { transactions: 0, loads: 0 };
  const wrap = (store: LedgerStore): LedgerStore => ({
    ...store,
    transact: (work) => {
      counts.transactions += 1;
      return store.transact((trx) =>
        work({
          ...trx,
          load: () => {
            counts.loads += 1;
            return trx.load();
          },
        }),
      );
    },
  });
  return { counts, wrap };
}

/** Settings and mounts of a draft. */
const seenBy = (draft: Draft) => ({
  mounts: [...draft.keys(MOUNTS)].sort(),
  own: [...draft.keys(SETTINGS)].filter((key) => ["a", "b", "m", "n"].includes(key)).sort(),
  path: draft.get(MOUNTS, "m")?.path,
  mixed: [draft.get(SETTINGS, "m"), draft.get(MOUNTS, "a")],
});

describe("a change in a group commit", () => {
  test("sees settings and mounts of the earlier changes, each kind separately", async () => {
    const parts = await testParts(newPath());
    const steps = [
      (draft: Draft) => {
        draft.put(MOUNTS, sampleMount("m", { path: "/a" }));
        draft.put(MOUNTS, sampleMount("n", { path: "/n" }));
        draft.put(SETTINGS, customItem("a", "1"));
        draft.put(SETTINGS, customItem("b", "1"));
      },
      seenBy,
      (draft: Draft) => {
        draft.put(MOUNTS, sampleMount("m", { path: "/b" }));
        draft.delete(MOUNTS, "n");
        draft.delete(SETTINGS, "b");
      },
      seenBy,
    ];
    const made = await Promise.all(steps.map((step) => change<unknown>(parts, step)));
    const [, first, , second] = made.map(({ result }) => result);
    const mixed = [undefined, undefined];
    const all = ["m", "n"];
    expect(first).toEqual({ mounts: all, own: ["a", "b"], path: "/a", mixed });
    expect(second).toEqual({ mounts: ["m"], own: ["a"], path: "/b", mixed });
    // The same in a later commit, with them in the snapshot.
    expect((await change(parts, seenBy)).result).toEqual(second);
    const definitions = (at: number) =>
      made[at]?.commit?.changes.map(({ key, oldAttributes, newAttributes }) => [
        key,
        oldAttributes,
        newAttributes,
      ]);
    const paths = (path: string) => JSON.stringify({ paths: [path], siteIds: "all" });
    expect(definitions(2)).toEqual([
      ["m", paths("/a"), paths("/b")],
      ["n", paths("/n"), null],
      ["b", expect.stringContaining("type"), null],
    ]);
  });

  test("that changes nothing is not published", async () => {
    const parts = await testParts(newPath());
    const listener = { append: vi.fn(), skipTo: vi.fn(), reset: vi.fn() };
    parts.ledger.listen(listener);
    await change(parts, () => undefined);
    expect(listener.append).not.toHaveBeenCalled();
    await save(parts, { a: "1" });
    expect(listener.append).toHaveBeenCalledOnce();
  });

  test("without rights is refused for any caller", async () => {
    const parts = await testParts(newPath());
    const grant = createGrant(["settings:write"], ["key:b"]);
    const origin = { ...tester, rights: rightsOf(grant, parts.ledger.snapshot) };
    const put = (key: string) =>
      parts.ledger.change(origin, (draft) => draft.put(SETTINGS, customItem(key, "1")));
    expect((await failureOf(() => put("a"))).code).toBe(Code.PermissionDenied);
    expect((await put("b")).revision).toBe(1);
  });
});

describe("a process without a sealing key", () => {
  const newKey = () => Buffer.alloc(32, 7).toString("base64url");

  test("commits no new, changed or deleted secret beside sealed ones", async () => {
    const path = newPath();
    const { counts, wrap } = counted();
    const a = await testParts(path, { wrap });
    await save(a, { aria2_secret: "old", token: "t".repeat(40) });
    const b = await testParts(path, { keys: [newKey()] });
    const refused = async (decide: (draft: Draft) => void) =>
      (await failureOf(() => change(a, decide))).code;
    const code = Code.FailedPrecondition;
    expect(await refused((draft) => draft.delete(SETTINGS, "aria2_secret"))).toBe(code);
    const added = sampleMount("m", { items: { password: "x" } });
    expect(await refused((draft) => draft.put(MOUNTS, added))).toBe(code);
    const decide = vi.fn((draft: Draft) => draft.put(SETTINGS, customItem("a", "1")));
    counts.loads = 0;
    await change(a, decide);
    expect([decide.mock.calls.length, counts.loads]).toEqual([1, 0]);
    await save(b, { aria2_secret: "new" });
  });
});

describe("the ledger", () => {
  test("resets a setting to its default when another process has deleted its row", async () => {
    const path = newPath();
    const [a, b] = [await testParts(path), await testParts(path)];
    const value = () => b.ledger.snapshot().get(SETTINGS, "site_title")?.value;
    const before = value();
    await save(a, { site_title: "Harbour" });
    await b.ledger.refresh();
    expect(value()).toBe("Harbour");
    await change(a, (draft) => draft.delete(SETTINGS, "site_title"));
    await b.ledger.refresh();
    expect(value()).toBe(before);
  });

  test("has a new snapshot of the same state after cached replies are invalidated", async () => {
    const { ledger } = await testParts(newPath());
    const before = ledger.snapshot();
    ledger.invalidateReplies();
    expect(ledger.snapshot()).not.toBe(before);
    expect(ledger.snapshot().revision).toBe(before.revision);
  });
});
