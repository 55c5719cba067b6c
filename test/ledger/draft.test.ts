import { describe, expect, test } from "vitest";
import { createDraft, createTrial } from "../../src/ledger/draft.ts";
import { knownItem, type SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { MOUNTS, mountItem } from "../../src/settings/mount-key.ts";
import { defined } from "../settings/parts.ts";
import { baseOf, snapshotOf } from "../settings/staged.ts";

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

describe("mounts in a draft", () => {
  const mount = (key: string, value = "{}") => mountItem(key, value, false);
  const drafted = () =>
    createDraft(baseOf(snapshotOf(4, [item("a", "1")], [mount("mount:m"), mount("mount:o")])));

  test("are read, set and deleted separately from settings", () => {
    const draft = drafted();
    expect([draft.get(MOUNTS, "mount:m")?.value, draft.get(SETTINGS, "mount:m")]).toEqual([
      "{}",
      undefined,
    ]);
    draft.put(MOUNTS, mount("mount:m", "[]"));
    draft.put(MOUNTS, mount("mount:n"));
    draft.put(SETTINGS, item("b", "1"));
    expect([draft.get(MOUNTS, "mount:m")?.value, draft.get(SETTINGS, "mount:n")]).toEqual([
      "[]",
      undefined,
    ]);
    expect([draft.get(MOUNTS, "mount:n")?.value, draft.get(MOUNTS, "b")]).toEqual([
      "{}",
      undefined,
    ]);
    expect([...draft.keys(MOUNTS)].sort()).toEqual(["mount:m", "mount:n", "mount:o"]);
    expect([...draft.keys(SETTINGS)]).toEqual(["a", "b"]);
    draft.delete(MOUNTS, "mount:m");
    expect(draft.get(MOUNTS, "mount:m")).toBeUndefined();
    expect([...draft.keys(MOUNTS)].sort()).toEqual(["mount:n", "mount:o"]);
    expect(draft.changes().map(({ key }) => key)).toEqual(["mount:m", "mount:n", "b"]);
  });

  test("report whether the draft has changed", () => {
    const draft = drafted();
    expect([
      draft.put(MOUNTS, mount("mount:m")),
      draft.put(MOUNTS, mount("mount:m"), true),
      draft.put(MOUNTS, mount("mount:m", "[]")),
      draft.delete(MOUNTS, "mount:m"),
      draft.delete(MOUNTS, "mount:none"),
    ]).toEqual([false, true, true, true, false]);
  });
});

test("a trial changes nothing", () => {
  const trial = createTrial(base());
  trial.put(SETTINGS, item("a", "2"));
  trial.delete(SETTINGS, "b");
  expect(trial.put(MOUNTS, mountItem("mount:m", "{}", false))).toBe(false);
  expect(trial.delete(MOUNTS, "mount:m")).toBe(false);
  expect(trial.nextPosition(SETTINGS)).toBe(6);
  expect(trial.nextPosition(SETTINGS)).toBe(6);
  expect(trial.changes()).toEqual([]);
});
