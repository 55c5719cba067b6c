import { describe, expect, test } from "vitest";
import type { StoredChange } from "../../src/ledger/store.ts";
import { describeChange, publicChange } from "../../src/settings/change.ts";
import { FLAG } from "../../src/settings/item.ts";
import { defined, tester } from "./parts.ts";

const change = (members: Partial<StoredChange>): StoredChange => ({
  kind: "setting",
  key: "k",
  oldBody: null,
  newBody: null,
  oldHashes: null,
  newHashes: null,
  oldAttributes: null,
  newAttributes: null,
  ...members,
});
const described = (flag: number): string =>
  JSON.stringify({ type: "string", options: "", help: "", group: 0, flag });

describe("a change for display", () => {
  test.each([
    [{ newBody: "b" }, { kind: "added", oldValue: undefined, newValue: "b", secret: false }],
    [
      { oldBody: "a", newBody: "b" },
      { kind: "changed", oldValue: "a", newValue: "b", secret: false },
    ],
    [{ oldBody: "a" }, { kind: "deleted", oldValue: "a", newValue: undefined, secret: false }],
    [
      { oldHashes: { value: "1" }, newHashes: { value: "2" } },
      { kind: "changed", oldValue: "********", newValue: "********", secret: true },
    ],
    [
      { newHashes: { value: "2" } },
      { kind: "added", oldValue: undefined, newValue: "********", secret: true },
    ],
    [
      { oldHashes: { value: "1" } },
      { kind: "deleted", oldValue: "********", newValue: undefined, secret: true },
    ],
  ])("%o", (members, expected) => {
    expect(describeChange(change(members))).toEqual({ key: "k", ...expected });
  });
});

describe("a change of the public settings", () => {
  const definitions = new Map([
    ["open", defined({ key: "open", flag: FLAG.public })],
    ["fixed", defined({ key: "fixed", flag: FLAG.readonly })],
    ["closed", defined({ key: "closed", flag: FLAG.private })],
  ]);
  const of = (...changes: readonly Partial<StoredChange>[]) =>
    publicChange({ ...tester, revision: 1, time: 0, changes: changes.map(change) }, (key) =>
      definitions.get(key),
    );

  test("has new values of public and read-only settings, and no others", () => {
    const changes = ["open", "fixed", "closed"].map((key) => ({
      key,
      oldBody: "a",
      newBody: `new ${key}`,
    }));
    expect(of(...changes)).toEqual({ set: { open: "new open", fixed: "new fixed" }, removed: [] });
    expect(of({ key: "open", newBody: "" })).toEqual({ set: { open: "" }, removed: [] });
    expect(of({ key: "open", oldBody: "a" })).toEqual({ set: {}, removed: ["open"] });
  });

  test("of custom settings depends on their descriptions before and after", () => {
    const [open, closed] = [described(FLAG.public), described(FLAG.private)];
    const values = { oldBody: "a", newBody: "b" };
    const added = { newBody: "b", newAttributes: open };
    expect(of(added)).toEqual({ set: { k: "b" }, removed: [] });
    const hidden = { ...values, oldAttributes: open, newAttributes: closed };
    expect(of(hidden)).toEqual({ set: {}, removed: ["k"] });
    expect(of({ oldBody: "a", oldAttributes: open })).toEqual({ set: {}, removed: ["k"] });
    expect(of({ ...values, oldAttributes: closed, newAttributes: open })).toEqual({
      set: { k: "b" },
      removed: [],
    });
  });

  test("is undefined when only private settings have changed", () => {
    const closed = { oldAttributes: described(FLAG.private) };
    expect(of({ key: "closed", newBody: "b" }, { oldBody: "a", ...closed })).toBeUndefined();
    expect(of()).toBeUndefined();
  });
});
