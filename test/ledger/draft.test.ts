import { describe, expect, test } from "vitest";
import { createDraft, createTrial } from "../../src/ledger/draft.ts";
import { kindNamed } from "../../src/ledger/kind.ts";
import { MOUNTS } from "../../src/mounts/kind.ts";
import { knownItem, type SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { defined } from "../settings/parts.ts";
import { baseOf, sampleMount, snapshotOf } from "../settings/staged.ts";

function item(key: string, value = "", position = 0): SettingItem {
  return { ...knownItem(defined({ key }), value), position };
}

const base = () => baseOf(snapshotOf(4, [item("a", "1"), item("b", "1"), item("z", "1", 6)]));

describe("a draft", () => {
  test("reads items of its base", () => {
    const draft = createDraft(base());
    expect(draft.revision).toBe(4);
    expect(draft.get(SETTINGS, "a")?.value).toBe("1");
    expect(draft.get(SETTINGS, "nobody")).toBeUndefined();
    expect(draft.changes()).toEqual([]);
  });

  test("has its own changes at once, and its base does not", () => {
    const below = base();
    const draft = createDraft(below);
    draft.put(SETTINGS, item("a", "2"));
    draft.put(SETTINGS, item("c", "3"));
    draft.delete(SETTINGS, "b");
    expect([
      draft.get(SETTINGS, "a")?.value,
      draft.get(SETTINGS, "b"),
      draft.get(SETTINGS, "c")?.value,
    ]).toEqual(["2", undefined, "3"]);
    expect([...draft.keys(SETTINGS)].sort()).toEqual(["a", "c", "z"]);
    expect(below.get(SETTINGS, "a")?.value).toBe("1");
  });

  test("has each key once among its changes, in its last state", () => {
    const draft = createDraft(base());
    for (const value of ["2", "3"]) draft.put(SETTINGS, item("a", value));
    draft.put(SETTINGS, item("c", "1"));
    draft.delete(SETTINGS, "c");
    expect(
      draft.changes().map(({ key, item: one }) => [key, (one as SettingItem | undefined)?.value]),
    ).toEqual([["a", "3"]]);
  });

  test("counts an item that is unchanged or restored as no change", () => {
    const draft = createDraft(base());
    draft.put(SETTINGS, item("a", "1"));
    draft.put(SETTINGS, item("b", "2"));
    draft.put(SETTINGS, item("b", "1"));
    draft.delete(SETTINGS, "nobody");
    expect(draft.changes()).toEqual([]);
  });

  test("counts an unchanged item as a change if the caller must not detect equality", () => {
    const draft = createDraft(base());
    draft.put(SETTINGS, item("a", "1"), true);
    expect(draft.changes()).toHaveLength(1);
  });

  test("counts another description with the same value as a change", () => {
    const draft = createDraft(base());
    draft.put(SETTINGS, { ...item("a", "1"), help: "new" });
    expect(draft.changes()).toHaveLength(1);
  });

  test("assigns positions after the last one", () => {
    const draft = createDraft(base());
    expect([draft.nextPosition(SETTINGS), draft.nextPosition(SETTINGS)]).toEqual([7, 8]);
    expect(draft.lastPosition(SETTINGS)).toBe(8);
    const above = createDraft(draft);
    expect(above.nextPosition(SETTINGS)).toBe(9);
  });
});

describe("records of several kinds in a draft", () => {
  const drafted = () =>
    createDraft(baseOf(snapshotOf(4, [item("a", "1")], [sampleMount("m"), sampleMount("o")])));

  test("are read, set and deleted separately, also with the same key", () => {
    const draft = drafted();
    expect([draft.get(MOUNTS, "m")?.path, draft.get(SETTINGS, "m")]).toEqual(["/m", undefined]);
    draft.put(MOUNTS, sampleMount("m", { path: "/other" }));
    draft.put(MOUNTS, sampleMount("a"));
    draft.put(SETTINGS, item("b", "1"));
    expect([draft.get(MOUNTS, "m")?.path, draft.get(MOUNTS, "b")]).toEqual(["/other", undefined]);
    expect([draft.get(MOUNTS, "a")?.path, draft.get(SETTINGS, "a")?.value]).toEqual(["/a", "1"]);
    expect([...draft.keys(MOUNTS)].sort()).toEqual(["a", "m", "o"]);
    expect([...draft.keys(SETTINGS)]).toEqual(["a", "b"]);
    draft.delete(MOUNTS, "m");
    expect(draft.get(MOUNTS, "m")).toBeUndefined();
    expect([...draft.keys(MOUNTS)].sort()).toEqual(["a", "o"]);
    expect(draft.changes().map(({ kind, key }) => [kind.name, key])).toEqual([
      ["mount", "m"],
      ["mount", "a"],
      ["setting", "b"],
    ]);
  });

  test("report whether the draft has changed", () => {
    const draft = drafted();
    expect([
      draft.put(MOUNTS, sampleMount("m")),
      draft.put(MOUNTS, sampleMount("m"), true),
      draft.put(MOUNTS, sampleMount("m", { path: "/other" })),
      draft.delete(MOUNTS, "m"),
      draft.delete(MOUNTS, "none"),
    ]).toEqual([false, true, true, true, false]);
  });

  test("of a kind that the ledger does not have cannot be read", () => {
    expect(() => drafted().put(kindNamed("none"), sampleMount("m"))).toThrow(/kind none/);
  });
});

test("a trial changes nothing", () => {
  const trial = createTrial(base());
  trial.put(SETTINGS, item("a", "2"));
  trial.delete(SETTINGS, "b");
  expect(trial.put(MOUNTS, sampleMount("m"))).toBe(false);
  expect(trial.delete(MOUNTS, "m")).toBe(false);
  expect(trial.nextPosition(SETTINGS)).toBe(6);
  expect(trial.nextPosition(SETTINGS)).toBe(6);
  expect(trial.changes()).toEqual([]);
});
