import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { describeChange } from "../../src/settings/change.ts";
import { MASK } from "../../src/settings/value.ts";
import {
  type Parts,
  type PartsOptions,
  restore,
  save,
  tester,
  testParts,
} from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();

/** A site with this number of revisions, a second apart, by two actors in turn. */
async function written(count: number, wrap?: PartsOptions["wrap"]): Promise<Parts> {
  let time = 0;
  const parts = await testParts(newPath(), { now: () => time, ...(wrap && { wrap }) });
  for (let at = 1; at <= count; at += 1) {
    time = at * 1_000;
    const actor = at % 2 === 0 ? "even" : "odd";
    const input = { key: at % 3 === 0 ? "logo" : "site_title", value: `${at}` };
    await parts.settings.save([input], { ...tester, actor, reason: `no ${at}` });
  }
  return parts;
}

const numbers = (page: { revisions: readonly { revision: number }[] }) =>
  page.revisions.map(({ revision }) => revision);

describe("the list of revisions", () => {
  test("has the actor, keys, time and reason of each", async () => {
    const { history } = await written(3);
    const { revisions, next, oldest } = await history.list({ pageSize: 0 });
    expect(revisions[0]).toEqual({
      ...tester,
      actor: "odd",
      reason: "no 3",
      revision: 3,
      time: 3_000,
      changes: [{ kind: "setting", key: "logo", oldAttributes: null, newAttributes: null }],
    });
    expect({ next, oldest }).toEqual({ next: undefined, oldest: 1 });
  });

  test("has pages, newest first, without a gap or a repeat", async () => {
    const { history } = await written(10);
    const pages: number[][] = [];
    let before: number | undefined;
    do {
      const page = await history.list({ pageSize: 4, before });
      pages.push(numbers(page));
      before = page.next;
    } while (before !== undefined);
    expect(pages).toEqual([
      [10, 9, 8, 7],
      [6, 5, 4, 3],
      [2, 1],
    ]);
    expect((await history.list({ pageSize: 10 })).next).toBeUndefined();
  });

  test("has 50 per page by default, and 1,000 at most", async () => {
    const limits: number[] = [];
    const { history } = await written(51, (store) => ({
      ...store,
      listRevisions: (filter) => {
        limits.push(filter.limit);
        return store.listRevisions(filter);
      },
    }));
    expect((await history.list({ pageSize: 0 })).revisions).toHaveLength(50);
    expect((await history.list({ pageSize: 1_000 })).revisions).toHaveLength(51);
    expect((await history.list({ pageSize: 2_000_000_000 })).revisions).toHaveLength(51);
    // A page is read in steps, none larger than the page and one further revision.
    expect(Math.max(...limits)).toBeLessThanOrEqual(1_001);
    const failure = await failureOf(() => history.list({ pageSize: -1 }));
    expect(failure.violations).toMatchObject([{ field: "page_size" }]);
  });

  test("keeps a reason of 500 characters, and refuses a longer one", async () => {
    const { history, settings } = await written(0);
    const save = (reason: string) =>
      settings.save([{ key: "site_title", value: reason }], { ...tester, reason });
    await save("🚢".repeat(500));
    for (const character of ["🚢", "\uffff"]) {
      const failure = await failureOf(() => save(character.repeat(501)));
      expect(failure.violations).toMatchObject([
        {
          field: "reason",
          description: expect.sentence(/has 501 characters; the limit is 500/),
        },
      ]);
    }
    expect((await history.list({ pageSize: 0 })).revisions).toMatchObject([
      { revision: 1, reason: "🚢".repeat(500) },
    ]);
  });

  test("is filtered by key, actor and time", async () => {
    const { history } = await written(10);
    const listed = async (filter: object) =>
      numbers(await history.list({ pageSize: 0, ...filter }));
    const logo = { kind: "setting", key: "logo" };
    expect(await listed({ record: logo })).toEqual([9, 6, 3]);
    expect(await listed({ actor: "even", since: 4_000, until: 8_000 })).toEqual([6, 4]);
    expect(await listed({ record: logo, actor: "odd" })).toEqual([9, 3]);
  });
});

describe("one revision", () => {
  test("has old and new values, with secrets masked", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "one", aria2_secret: "hidden", mine: "1" });
    await save(parts, { site_title: "two", aria2_secret: "", mine: "1" });
    const shown = async (revision: number) =>
      (await parts.history.get(revision)).changes.map(describeChange);
    expect(await shown(1)).toEqual([
      { key: "aria2_secret", kind: "changed", oldValue: MASK, newValue: MASK, secret: true },
      { key: "mine", kind: "added", oldValue: undefined, newValue: "1", secret: false },
      expect.objectContaining({ key: "site_title", kind: "changed", newValue: "one" }),
    ]);
    expect(await shown(2)).toMatchObject([
      { key: "aria2_secret", kind: "changed" },
      { key: "site_title", oldValue: "one", newValue: "two" },
    ]);
  });

  test("that does not exist, or is not kept any more, has its own error", async () => {
    const { history, store } = await written(5);
    for (const revision of [0, -1, 6, 1e12])
      expect((await failureOf(() => history.get(revision))).code).toBe(Code.NotFound);
    await store.compact({ count: 2, notBefore: 0 }, 100);
    const { code, message } = await failureOf(() => history.get(3));
    expect(code).toBe(Code.OutOfRange);
    expect(message).toBe("revision 3 has been deleted; the oldest revision is 4");
    expect((await history.get(4)).revision).toBe(4);
  });
});

describe("the difference of two revisions", () => {
  test("has one change for each key that differs, in either direction", async () => {
    const { history } = await written(6);
    const between = async (from: number, to: number) =>
      (await history.diff(from, to)).map(({ key, oldBody, newBody }) => [key, oldBody, newBody]);
    expect(await between(2, 6)).toEqual([
      ["logo", expect.any(String), "6"],
      ["site_title", "2", "5"],
    ]);
    expect(await between(5, 2)).toEqual([
      ["logo", "3", expect.any(String)],
      ["site_title", "5", "2"],
    ]);
    expect(await between(3, 0)).toEqual(await between(3, 6));
    expect(await between(4, 4)).toEqual([]);
  });

  test("omits settings that have their earlier value again, also secrets", async () => {
    const parts = await testParts(newPath());
    for (const value of ["one", "two", "one"])
      await save(parts, { site_title: value, aria2_secret: value, logo: value });
    expect(await parts.history.diff(1, 3)).toEqual([]);
    expect((await parts.history.diff(1, 2)).map(({ key }) => key)).toEqual([
      "aria2_secret",
      "logo",
      "site_title",
    ]);
  });

  test("needs every revision in between, and its error names the oldest", async () => {
    const { history, store } = await written(6);
    await store.compact({ count: 3, notBefore: 0 }, 100);
    expect(await history.diff(3, 6)).toHaveLength(2);
    expect((await failureOf(() => history.diff(2, 6))).code).toBe(Code.OutOfRange);
  });
});

test("a history that cannot be read is UNAVAILABLE, with the store's own message", async () => {
  const path = newPath();
  await save(await testParts(path), { site_title: "one" });
  const parts = await testParts(path);
  await parts.close();
  const calls = [
    () => parts.history.list({ pageSize: 0 }),
    () => parts.history.get(1),
    () => parts.history.diff(0, 1),
    () => restore(parts, 0),
    () => parts.feed.read(0, new AbortController().signal)[Symbol.asyncIterator]().next(),
  ];
  for (const call of calls) {
    const { code, message } = await failureOf(call);
    expect(code).toBe(Code.Unavailable);
    expect(message).toMatch(/^the history cannot be read: the database .* is closed/);
  }
});
