import { describe, expect, test } from "vitest";
import { createDraft, createTrial } from "../../src/ledger/draft.ts";
import { createSnapshot } from "../../src/ledger/snapshot.ts";
import { knownItem, type SettingItem } from "../../src/settings/item.ts";
import { mountItem } from "../../src/settings/mount-key.ts";
import { defined } from "../settings/parts.ts";
import { baseOf } from "../settings/staged.ts";

function item(key: string, value = "", position = 0): SettingItem {
  return { ...knownItem(defined({ key }), value), position };
}

const base = () => baseOf(createSnapshot(4, [item("a", "1"), item("b", "1"), item("z", "1", 6)]));

describe("a draft", () => {
  test("reads items of its base", () => {
    const draft = createDraft(base());
    expect(draft.revision).toBe(4);
    expect(draft.get("a")?.value).toBe("1");
    expect(draft.get("nobody")).toBeUndefined();
    expect(draft.changes()).toEqual([]);
  });

  test("has its own changes at once, and its base does not", () => {
    const below = base();
    const draft = createDraft(below);
    draft.put(item("a", "2"));
    draft.put(item("c", "3"));
    draft.delete("b");
    expect([draft.get("a")?.value, draft.get("b"), draft.get("c")?.value]).toEqual([
      "2",
      undefined,
      "3",
    ]);
    expect([...draft.keys()].sort()).toEqual(["a", "c", "z"]);
    expect(below.get("a")?.value).toBe("1");
  });

  test("has each key once among its changes, in its last state", () => {
    const draft = createDraft(base());
    for (const value of ["2", "3"]) draft.put(item("a", value));
    draft.put(item("c", "1"));
    draft.delete("c");
    expect(draft.changes().map(([key, one]) => [key, one?.value])).toEqual([["a", "3"]]);
  });

  test("counts an item that is unchanged or restored as no change", () => {
    const draft = createDraft(base());
    draft.put(item("a", "1"));
    draft.put(item("b", "2"));
    draft.put(item("b", "1"));
    draft.delete("nobody");
    expect(draft.changes()).toEqual([]);
  });

  test("counts an unchanged item as a change if the caller must not detect equality", () => {
    const draft = createDraft(base());
    draft.put(item("a", "1"), true);
    expect(draft.changes()).toHaveLength(1);
  });

  test("counts another description with the same value as a change", () => {
    const draft = createDraft(base());
    draft.put({ ...item("a", "1"), help: "new" });
    expect(draft.changes()).toHaveLength(1);
  });

  test("assigns positions after the last one", () => {
    const draft = createDraft(base());
    expect([draft.nextPosition(), draft.nextPosition()]).toEqual([7, 8]);
    expect(draft.lastPosition).toBe(8);
    const above = createDraft(draft);
    expect(above.nextPosition()).toBe(9);
  });
});

describe("mounts in a draft", () => {
  const mount = (key: string, value = "{}") => mountItem(key, value, false);
  const drafted = () =>
    createDraft(baseOf(createSnapshot(4, [item("a", "1")], [mount("mount:m"), mount("mount:o")])));

  test("are read, set and deleted separately from settings", () => {
    const draft = drafted();
    expect([draft.mount("mount:m")?.value, draft.get("mount:m")]).toEqual(["{}", undefined]);
    draft.putMount(mount("mount:m", "[]"));
    draft.putMount(mount("mount:n"));
    draft.put(item("b", "1"));
    expect([draft.mount("mount:m")?.value, draft.get("mount:n")]).toEqual(["[]", undefined]);
    expect([draft.mount("mount:n")?.value, draft.mount("b")]).toEqual(["{}", undefined]);
    expect([...draft.mountKeys()].sort()).toEqual(["mount:m", "mount:n", "mount:o"]);
    expect([...draft.keys()]).toEqual(["a", "b"]);
    draft.deleteMount("mount:m");
    expect(draft.mount("mount:m")).toBeUndefined();
    expect([...draft.mountKeys()].sort()).toEqual(["mount:n", "mount:o"]);
    expect(draft.changes().map(([key]) => key)).toEqual(["mount:m", "mount:n", "b"]);
  });

  test("report whether the draft has changed", () => {
    const draft = drafted();
    expect([
      draft.putMount(mount("mount:m")),
      draft.putMount(mount("mount:m"), true),
      draft.putMount(mount("mount:m", "[]")),
      draft.deleteMount("mount:m"),
      draft.deleteMount("mount:none"),
    ]).toEqual([false, true, true, true, false]);
  });

  test("never have the key of a setting, nor a setting that of a mount", () => {
    const draft = drafted();
    const wrong = [
      () => draft.put(item("mount:m")),
      () => draft.put(mount("mount:new")),
      () => draft.delete("mount:m"),
      () => draft.putMount(mount("a")),
      () => draft.putMount(item("new")),
      () => draft.deleteMount("a"),
    ];
    for (const change of wrong) expect(change).toThrow(/belongs to another kind of row/);
    expect(draft.changes()).toEqual([]);
  });
});

test("a trial changes nothing", () => {
  const trial = createTrial(base());
  trial.put(item("a", "2"));
  trial.delete("b");
  expect(trial.putMount(mountItem("mount:m", "{}", false))).toBe(false);
  expect(trial.deleteMount("mount:m")).toBe(false);
  expect(trial.nextPosition()).toBe(6);
  expect(trial.nextPosition()).toBe(6);
  expect(trial.changes()).toEqual([]);
});
