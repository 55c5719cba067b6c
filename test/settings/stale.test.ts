import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { refuseMoved, retryWhileMoved } from "../../src/settings/conflict.ts";
import { createDraft } from "../../src/settings/draft.ts";
import { knownItem } from "../../src/settings/item.ts";
import { createSnapshot } from "../../src/settings/snapshot.ts";
import { failureOf } from "../backup/setting.ts";
import { temporaryPaths } from "../store/folder.ts";
import { defined, type Parts, save, tester, testParts } from "./parts.ts";

const newPath = temporaryPaths();

/** A group as a page has read it: each setting with the revision that wrote it. */
const groupOf = (parts: Parts, ...keys: string[]) =>
  keys.map((key) => {
    const { value, revision } = parts.settings.get(key);
    return { key, value, seenRevision: revision };
  });

const stored = (parts: Parts, key: string) => parts.settings.get(key).value;

describe("a group that is sent back as a whole", () => {
  test("saves the changes of the page, and reverts no later save", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "first", robots_txt: "first" });
    const page = groupOf(parts, "site_title", "robots_txt", "announcement");
    await save(parts, { robots_txt: "since", announcement: "since" });
    const sent = page.map((item) =>
      item.key === "site_title" ? { ...item, value: "mine" } : item,
    );
    const { commit } = await parts.settings.save(sent, tester);
    expect(commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
    expect(stored(parts, "robots_txt")).toBe("since");
    expect(stored(parts, "announcement")).toBe("since");
  });

  test("is compared for a secret too, whose value the history does not have", async () => {
    const parts = await testParts(newPath());
    await save(parts, { s3_secret_access_key: "read then" });
    const page = groupOf(parts, "s3_secret_access_key");
    await save(parts, { s3_secret_access_key: "set since" });
    await parts.settings.save(page, tester);
    expect(stored(parts, "s3_secret_access_key")).toBe("set since");
    const typed = page.map((item) => ({ ...item, value: "typed" }));
    await parts.settings.save(typed, tester);
    expect(stored(parts, "s3_secret_access_key")).toBe("typed");
  });

  test("whose history is not kept any more is refused, and nothing is changed", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "read then" });
    const page = groupOf(parts, "site_title");
    await save(parts, { site_title: "set since" });
    await save(parts, { site_title: "and again" });
    await parts.store.compact({ count: 1, notBefore: 0 }, 10);
    expect((await failureOf(() => parts.settings.save(page, tester))).message).toContain(
      "nothing was changed",
    );
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
    const [page] = groupOf(parts, "site_title");
    await save(parts, { site_title: "set since" });
    await save(parts, { site_title: "and again" });
    meanwhile = () => parts.store.compact({ count: 1, notBefore: 0 }, 10);
    const typed = [{ ...page, key: "site_title", value: "set since" }];
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
          tester,
        ),
      ),
    );
    expect(keys.map((key) => stored(parts, key))).toEqual(mine);
  });
});

test("a save that other saves precede ten times is refused", async () => {
  const at = (revision: number) =>
    createSnapshot(revision, [{ ...knownItem(defined({ key: "a" }), ""), revision }]);
  const draft = (revision: number) =>
    createDraft({
      revision,
      lastPosition: 0,
      mount: () => undefined,
      keys: () => [],
      mountKeys: () => [],
      get: (key) => at(revision).get(key),
    });
  const seen = [{ key: "a", value: "", seenRevision: 1 }];
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
