import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createDraft } from "../../src/ledger/draft.ts";
import { refuseMoved, retryWhileMoved } from "../../src/settings/conflict.ts";
import { knownItem } from "../../src/settings/item.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import { defined, type Parts, save, tester, testParts } from "./parts.ts";
import { baseOf, snapshotOf } from "./staged.ts";

const newPath = temporaryPaths();

/** A group as a page has read it: each setting with its etag. */
const groupOf = (parts: Parts, ...keys: string[]) =>
  keys.map((key) => {
    const item = parts.settings.get(key);
    return { key, value: item.value, seenEtag: parts.settings.etagOf(item) };
  });

const other = { ...tester, actor: "other" };

/** Saves values as another caller. */
const saveElsewhere = (parts: Parts, values: Readonly<Record<string, string>>) =>
  parts.settings.save(
    Object.entries(values).map(([key, value]) => ({ key, value })),
    other,
  );

const stored = (parts: Parts, key: string) => parts.settings.get(key).value;

describe("a group that is sent back as a whole", () => {
  test("saves the changes of the page, and reverts no later save", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "first", robots_txt: "first" });
    const page = groupOf(parts, "site_title", "robots_txt", "announcement");
    await saveElsewhere(parts, { robots_txt: "since", announcement: "since" });
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    const { commit, result } = await parts.settings.save(sent, tester);
    expect(commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
    expect(result).toEqual(
      ["robots_txt", "announcement"].map((key) => ({
        key,
        reason: expect.sentence("another caller in revision 2"),
        isOutdated: true,
      })),
    );
    expect(stored(parts, "robots_txt")).toBe("since");
    expect(stored(parts, "announcement")).toBe("since");
  });

  test("is compared for a secret too, whose value the history does not have", async () => {
    const parts = await testParts(newPath());
    await save(parts, { s3_secret_access_key: "read then" });
    const page = groupOf(parts, "s3_secret_access_key", "s3_buckets");
    await saveElsewhere(parts, { s3_secret_access_key: "set since" });
    await parts.settings.save(page, tester);
    expect(stored(parts, "s3_secret_access_key")).toBe("set since");
    const typed = page.map((item) =>
      item.key === "s3_buckets" ? item : { ...item, value: "typed" },
    );
    await parts.settings.save(typed, tester);
    expect(stored(parts, "s3_secret_access_key")).toBe("typed");
  });

  test("reverts no later save although the history since is not kept any more", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "read then" });
    const page = groupOf(parts, "site_title", "robots_txt");
    await saveElsewhere(parts, { site_title: "set since" });
    await saveElsewhere(parts, { site_title: "and again" });
    await parts.store.compact({ count: 1, notBefore: 0 }, 10);
    const { result } = await parts.settings.save(page, tester);
    expect(result).toMatchObject([{ key: "site_title", isOutdated: true }]);
    expect(stored(parts, "site_title")).toBe("and again");
  });

  test("whose history is deleted during the save is refused, and no typed value is lost", async () => {
    let meanwhile = async (): Promise<unknown> => undefined;
    const parts = await testParts(newPath(), {
      wrap: (store) => ({
        ...store,
        firstChanges: async (...asked) => {
          await meanwhile();
          return store.firstChanges(...asked);
        },
      }),
    });
    await save(parts, { site_title: "read then" });
    const [page, beside] = groupOf(parts, "site_title", "robots_txt");
    await save(parts, { site_title: "mine" });
    await saveElsewhere(parts, { site_title: "set since" });
    await saveElsewhere(parts, { site_title: "and again" });
    meanwhile = () => parts.store.compact({ count: 1, notBefore: 0 }, 10);
    const typed = [
      { ...page, key: "site_title", value: "set since" },
      { ...beside, key: "robots_txt" },
    ];
    const refusal = await failureOf(() => parts.settings.save(typed, tester));
    expect(refusal).toMatchObject({ code: Code.Aborted });
  });

  test("loses no change when many are sent at once, in any order", async () => {
    const parts = await testParts(newPath());
    const keys = ["site_title", "robots_txt", "announcement", "allow_indexed"];
    const page = groupOf(parts, ...keys);
    const mine = ["a", "b", "c", "true"];
    await Promise.all(
      keys.map((key, at) =>
        parts.settings.save(
          page.map((item) => (item.key === key ? { ...item, value: mine[at] ?? "" } : item)),
          { ...tester, actor: `caller ${at}` },
        ),
      ),
    );
    expect(keys.map((key) => stored(parts, key))).toEqual(mine);
  });
});

describe("a value that is set back from the same page", () => {
  const READ = ["site_title", "robots_txt", "allow_indexed"];
  type Saved = readonly [by: "me" | "other", values: Readonly<Record<string, string>>];

  /** Saves the page of `tester` after each other's changes, as it was read at first. */
  const replayed = async (parts: Parts, ...saves: readonly Saved[]) => {
    const page = groupOf(parts, ...READ);
    let mine: Readonly<Record<string, string>> = {};
    let outdated: readonly string[] = [];
    for (const [by, values] of saves) {
      if (by === "other") await saveElsewhere(parts, values);
      else {
        mine = { ...mine, ...values };
        const sent = page.map((item) => ({ ...item, value: mine[item.key] ?? item.value }));
        const { result } = await parts.settings.save(sent, tester);
        outdated = result.map(({ key }) => key);
      }
    }
    return { values: READ.map((key) => stored(parts, key)), outdated };
  };

  const mine = (values: Saved[1]): Saved => ["me", values];
  const theirs = (values: Saved[1]): Saved => ["other", values];
  const [A, B, C] = [{ site_title: "A" }, { site_title: "B" }, { site_title: "C" }];
  const S = { robots_txt: "s" };
  const [ON, OFF] = [{ allow_indexed: "true" }, { allow_indexed: "false" }];

  test.each<[string, readonly Saved[], values: string, outdated: string]>([
    ["is stored after an own change", [mine(B), mine(A)], "A r false", ""],
    ["is stored for a switch", [mine(ON), mine(OFF)], "A r false", ""],
    [
      "is stored for the whole group",
      [mine({ ...B, ...S, ...ON }), mine({ ...A, robots_txt: "r", ...OFF })],
      "A r false",
      "",
    ],
    [
      "is stored over a change by another caller that the page has replaced",
      [theirs(C), mine(B), mine(A)],
      "A r false",
      "",
    ],
    [
      "is stored over a change by another caller after the own one",
      [mine(B), theirs(C), mine(A)],
      "A r false",
      "",
    ],
    [
      "is not stored if the page repeats its own save and another caller has changed it since",
      [mine(B), theirs(C), mine(S)],
      "C s false",
      "site_title",
    ],
    [
      "is not stored if only another caller has changed it",
      [theirs({ ...ON, ...C }), mine(S)],
      "C s true",
      "site_title allow_indexed",
    ],
  ])("%s", async (_, saves, values, outdated) => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "A", robots_txt: "r", allow_indexed: "false" });
    const result = await replayed(parts, ...saves);
    expect([result.values.join(" "), result.outdated.join(" ")]).toEqual([values, outdated]);
  });

  test("is stored from its default, and for a secret", async () => {
    const parts = await testParts(newPath());
    const { value } = parts.settings.get("s3_secret_access_key");
    const page = groupOf(parts, "s3_secret_access_key", "s3_buckets");
    const secret = (text: string) =>
      parts.settings.save(
        page.map((item) => (item.key === "s3_buckets" ? item : { ...item, value: text })),
        tester,
      );
    await secret("one");
    await secret("two");
    await secret("one");
    expect(stored(parts, "s3_secret_access_key")).toBe("one");
    await secret(value);
    expect(stored(parts, "s3_secret_access_key")).toBe(value);
  });

  test("is distinguished by token, not by principal", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "A" });
    const page = groupOf(parts, "site_title", "robots_txt");
    const by = (token: string) => ({ ...tester, actor: `ann/${token}` });
    await parts.settings.save([{ key: "site_title", value: "B" }], by("aaaaaaaaaaaa"));
    const { result } = await parts.settings.save(page, by("bbbbbbbbbbbb"));
    expect(result).toMatchObject([{ key: "site_title" }]);
    await parts.settings.save(page, { ...by("aaaaaaaaaaaa"), peer: "192.0.2.1" });
    expect(stored(parts, "site_title")).toBe("A");
  });

  test("is always stored by a save of one setting", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "A" });
    const page = groupOf(parts, "site_title");
    await saveElsewhere(parts, { site_title: "C" });
    await parts.store.compact({ count: 1, notBefore: 0 }, 10);
    expect((await parts.settings.save(page, tester)).result).toEqual([]);
    expect(stored(parts, "site_title")).toBe("A");
  });
});

test("a save that other saves precede ten times is refused", async () => {
  const at = (revision: number) =>
    snapshotOf(revision, [{ ...knownItem(defined({ key: "a" }), ""), revision }]);
  const draft = (revision: number) => createDraft(baseOf(at(revision)));
  const seen = [{ key: "a", value: "", seenEtag: "1.0123456789abcdef" }];
  let tries = 0;
  const attempt = (moves: number) =>
    retryWhileMoved(() => {
      tries += 1;
      refuseMoved(draft(tries <= moves ? 3 : 2), seen, at(2));
      return tries;
    });
  expect(await attempt(9)).toBe(10);
  tries = 0;
  const { code, message } = await failureOf(() => attempt(10));
  expect([code, message, tries]).toEqual([Code.Aborted, expect.stringMatching(/keep saving/), 10]);
});

test("a list of several groups is a backup: every value is saved", async () => {
  const parts = await testParts(newPath());
  const backup = groupOf(parts, "site_title", "main_color");
  await save(parts, { site_title: "since" });
  await parts.settings.save(backup, tester);
  expect(stored(parts, "site_title")).toBe(backup[0]?.value);
});
