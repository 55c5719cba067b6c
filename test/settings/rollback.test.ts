import { setImmediate } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createGrant } from "../../src/access/grant.ts";
import { MOUNTS } from "../../src/mounts/kind.ts";
import { FLAG } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";
import {
  defined,
  definitions,
  leftBy,
  type Parts,
  restore,
  save,
  tester,
  testParts,
} from "./parts.ts";
import { sampleMount } from "./staged.ts";

const newPath = temporaryPaths();

const back = (parts: Parts, revision: number, keys: readonly string[] = [], dryRun = false) =>
  restore(parts, revision, keys, { dryRun });

/** Rights of a caller who gets secrets as `********`. */
const WITHOUT_SECRETS = createGrant(["history:rollback"], []);

/** Result for a setting that was restored. */
const RESTORED = { kind: "setting", outcome: "changed", note: "" };

/** Key to value of settings that are set or created. */
const values = ({ settings }: Parts): Record<string, string> =>
  Object.fromEntries(
    settings
      .list([])
      .filter(({ revision, value, definition }) => revision > 0 && value !== definition?.default)
      .map(({ key, value }) => [key, value]),
  );

describe("a rollback", () => {
  test("restores values as a new revision, defaults included", async () => {
    const path = newPath();
    const parts = await testParts(path);
    await save(parts, { site_title: "one", logo: "l" });
    await save(parts, { site_title: "two", default_page_size: "5" });
    const { revision, commit, result } = await back(parts, 1);
    expect(revision).toBe(3);
    expect(result).toEqual([
      { ...RESTORED, key: "default_page_size", differs: ["value"] },
      { ...RESTORED, key: "site_title", differs: ["value"] },
    ]);
    expect(commit?.changes.map(({ key }) => key)).toEqual(["default_page_size", "site_title"]);
    expect(values(parts)).toEqual({ site_title: "one", logo: "l" });
    expect(values(await testParts(path))).toEqual(values(parts));
    await back(parts, 0);
    expect(values(parts)).toEqual({});
    await back(parts, 2);
    expect(values(parts)).toEqual({ site_title: "two", logo: "l", default_page_size: "5" });
  });

  test("to the newest revision, or of unchanged keys, creates no revision", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "one" });
    expect(await back(parts, 1)).toMatchObject({ revision: 1, commit: undefined });
    expect(await back(parts, 0, ["logo"])).toMatchObject({ revision: 1, commit: undefined });
  });

  test("of some keys leaves the others", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "one", logo: "l", mine: "1" });
    await back(parts, 0, ["logo", "mine"]);
    expect(values(parts)).toEqual({ site_title: "one" });
  });

  test("deletes custom settings that were added, and restores deleted ones", async () => {
    const path = newPath();
    const parts = await testParts(path);
    const described = { type: "number", help: "why", group: 9, flag: FLAG.deprecated };
    await parts.settings.save([{ key: "mine", value: "1", ...described }], tester);
    await parts.settings.delete("mine", tester);
    await save(parts, { other: "2" });
    await back(parts, 1);
    for (const one of [parts, await testParts(path)]) {
      expect(values(one)).toEqual({ mine: "1" });
      expect(one.settings.get("mine")).toMatchObject(described);
    }
    await back(parts, 2, ["mine"]);
    expect(values(parts)).toEqual({});
  });

  test("restores the description of a custom setting", async () => {
    const parts = await testParts(newPath());
    await save(parts, { mine: "1" });
    const flag = FLAG.public;
    await parts.settings.save([{ key: "mine", value: "a", type: "text", flag }], tester);
    await back(parts, 1);
    expect(parts.settings.get("mine")).toMatchObject({ type: "string", flag: FLAG.private });
  });

  test("restores a custom setting that a client has described as read-only", async () => {
    const parts = await testParts(newPath());
    await save(parts, { mine: "1" });
    const mine = { key: "mine", value: "2", flag: FLAG.readonly };
    await parts.settings.save([mine], tester);
    expect(leftBy(await back(parts, 1))).toEqual([]);
    expect(parts.settings.get("mine")).toMatchObject({ value: "1", flag: FLAG.private });
  });

  test("leaves mounts unchanged", async () => {
    const parts = await testParts(newPath());
    await parts.ledger.change(tester, (draft) => draft.put(MOUNTS, sampleMount("m")));
    expect(await back(parts, 0)).toMatchObject({ commit: undefined, result: [] });
    expect(parts.ledger.snapshot().get(MOUNTS, "m")).toBeDefined();
  });

  test("skips a changed secret with a reason, and restores the rest", async () => {
    const parts = await testParts(newPath());
    await save(parts, { aria2_secret: "one", site_title: "one" });
    await save(parts, { aria2_secret: "two", site_title: "two" });
    const restored = await back(parts, 1);
    expect(leftBy(restored)).toEqual([
      {
        key: "aria2_secret",
        reason: expect.sentence(/^is a secret: its value is not in the history/),
      },
    ]);
    expect(restored.commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
    expect(parts.settings.get("aria2_secret").value).toBe("two");
  });

  test("counts a secret with its earlier value as unchanged", async () => {
    const parts = await testParts(newPath());
    for (const value of ["one", "two", "one"]) await save(parts, { aria2_secret: value });
    expect(leftBy(await back(parts, 1))).toEqual([]);
    expect(leftBy(await back(parts, 2))).toMatchObject([{ key: "aria2_secret" }]);
  });

  test("counts a secret that another process has restored in between as unchanged", async () => {
    const path = newPath();
    const [parts, other] = [await testParts(path), await testParts(path)];
    await save(parts, { aria2_secret: "one" });
    await save(parts, { aria2_secret: "two" });
    await save(other, { aria2_secret: "one" });
    expect(leftBy(await back(parts, 1))).toEqual([]);
  });

  test("does not reveal to a caller without the right to secrets that one has its earlier value", async () => {
    const parts = await testParts(newPath());
    for (const value of ["one", "two", "one"]) await save(parts, { aria2_secret: value });
    const restored = await restore(parts, 1, [], { grant: WITHOUT_SECRETS });
    expect(leftBy(restored)).toMatchObject([{ key: "aria2_secret" }]);
  });

  test("restores the plain value of a setting that became secret, for any caller", async () => {
    const path = newPath();
    const earlier = await testParts(path);
    for (const value of ["one", "two"]) await save(earlier, { later: value });
    const definitions = [defined({ key: "later", secret: true })];
    const parts = await testParts(path, { definitions });
    await save(parts, { later: "three" });
    await restore(parts, 1, [], { grant: WITHOUT_SECRETS });
    expect(parts.settings.get("later").value).toBe("one");
  });

  test("does not restore a secret of a deleted setting", async () => {
    const path = newPath();
    const earlier = await testParts(path, { definitions: [defined({ key: "old", secret: true })] });
    await save(earlier, { old: "1" });
    const parts = await testParts(path);
    await parts.settings.delete("old", tester);
    expect(leftBy(await back(parts, 1))).toMatchObject([{ key: "old" }]);
    expect(values(parts)).toEqual({});
  });

  test("skips a deleted setting of an earlier version with a reason", async () => {
    const path = newPath();
    const earlier = await testParts(path, { definitions: [defined({ key: "old", flag: 0 })] });
    await save(earlier, { old: "1" });
    await save(earlier, { old: "2" });
    const parts = await testParts(path);
    await parts.settings.delete("old", tester);
    expect(leftBy(await back(parts, 1))).toEqual([
      { key: "old", reason: expect.sentence(/earlier version/) },
    ]);
  });

  test("skips settings that the program or a file sets, with a reason", async () => {
    const parts = await testParts(newPath(), {
      managedBy: (key) => (key === "logo" ? "the file x.yaml" : undefined),
    });
    const write = (values: Record<string, string>) =>
      parts.ledger.change(tester, (draft) => {
        for (const [key, value] of Object.entries(values)) {
          const item = draft.get(SETTINGS, key);
          if (item !== undefined) draft.put(SETTINGS, { ...item, value });
        }
      });
    await write({ version: "v1", logo: "1" });
    await write({ version: "v2", logo: "2", site_title: "x" });
    const restored = await back(parts, 1);
    expect(leftBy(restored)).toEqual([
      { key: "logo", reason: expect.sentence(/^is managed by the file x\.yaml$/) },
      { key: "version", reason: expect.sentence(/^is read-only: the program sets it$/) },
    ]);
    expect(restored.commit?.changes.map(({ key }) => key)).toEqual(["site_title"]);
  });

  test("is refused for a key that never existed, and for a revision that does not exist", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "one" });
    const refused: [() => Promise<unknown>, RegExp][] = [
      [() => back(parts, 0, ["nobody"]), /nothing has the name "nobody"/],
      [() => back(parts, 2), /there is no revision 2; the newest is 1/],
      [() => back(parts, -1), /there is no revision -1/],
    ];
    for (const [change, reason] of refused) {
      const { code, message } = await failureOf(change);
      expect(code).toBe(Code.NotFound);
      expect(message).toMatch(reason);
    }
  });

  test("of settings of a later version restores the default, and the setting is kept", async () => {
    const path = newPath();
    await save(await testParts(path), { future: "custom" });
    const later = [...definitions, defined({ key: "future", default: "d" })];
    const parts = await testParts(path, { definitions: later });
    await back(parts, 0);
    expect(parts.settings.get("future")).toMatchObject({ value: "d", definition: later.at(-1) });
    const again = await testParts(path, { definitions: later });
    expect(again.settings.get("future").value).toBe("d");
  });

  test("of settings of an earlier version restores the value, and it stays deprecated", async () => {
    const path = newPath();
    const earlier = await testParts(path, { definitions: [defined({ key: "old", flag: 0 })] });
    await save(earlier, { old: "1" });
    await save(earlier, { old: "2" });
    const parts = await testParts(path);
    expect(leftBy(await back(parts, 1))).toEqual([]);
    expect(parts.settings.get("old")).toMatchObject({ value: "1", flag: FLAG.deprecated });
  });
});

describe("a rollback during saves", () => {
  test("restores the state of that revision, with any saves in between", async () => {
    const parts = await testParts(newPath());
    await save(parts, { site_title: "one", kept: "one" });
    await save(parts, { site_title: "two" });
    const results = await Promise.all([
      back(parts, 1),
      save(parts, { site_title: "three", logo: "late", later: "made" }),
      save(parts, { kept: "changed" }),
    ]);
    const [{ revision }] = results;
    const state = await parts.history.diff(1, revision);
    expect(state).toEqual([]);
  });

  test("is never refused, with continuous saves in two processes", async () => {
    const path = newPath();
    const [parts, other] = [await testParts(path), await testParts(path)];
    await save(parts, { a: "0", b: "0", c: "0" });
    let isRunning = true;
    const writers = [parts, other].flatMap((by) =>
      ["a", "b", "c"].map(async (key) => {
        for (let at = 1; isRunning; at += 1) {
          await save(by, { [key]: `${at}` });
          // Requests arrive by the event loop; without it the other store would never run.
          await setImmediate();
        }
      }),
    );
    try {
      for (let round = 0; round < 10; round += 1) {
        const { revision } = await back(parts, 1);
        expect(await parts.history.diff(1, revision)).toEqual([]);
      }
    } finally {
      isRunning = false;
      await Promise.all(writers);
    }
  });

  test("of one process includes what another has committed in between", async () => {
    const path = newPath();
    const [parts, other] = [await testParts(path), await testParts(path)];
    const gone = { key: "gone", value: "1", flag: FLAG.deprecated };
    await parts.settings.save([{ key: "site_title", value: "one" }, gone], tester);
    await save(parts, { site_title: "two" });
    await save(other, { site_title: "three", logo: "foreign", made: "there", aria2_secret: "s" });
    await other.settings.delete("gone", tester);
    expect(parts.ledger.snapshot().revision).toBe(2);
    const restored = await back(parts, 1);
    expect(leftBy(restored)).toMatchObject([{ key: "aria2_secret" }]);
    expect(values(parts)).toEqual({ site_title: "one", gone: "1", aria2_secret: "s" });
    expect(restored.revision).toBe(5);
  });
});
