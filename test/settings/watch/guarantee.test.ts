import { describe, expect, test } from "vitest";
import { broken, guarantees, type Recorded, type Truth } from "./guarantee.ts";

const truth: Truth[] = [1, 2, 3, 4].map((revision) => ({
  revision,
  values: { k1: `${revision}`, k2: revision === 3 ? null : "x" },
}));
const change = (revision: number): Recorded => ({
  kind: "change",
  revision,
  values: truth[revision - 1]?.values ?? {},
});
const bookmark = (revision: number): Recorded => ({ kind: "bookmark", revision, values: {} });
const snapshot = (revision: number, values = truth[revision - 1]?.values ?? {}): Recorded => ({
  kind: "snapshot",
  revision,
  values,
});

describe("the validators of a watch", () => {
  test.each<[string, Recorded[]]>([
    ["from a snapshot on", [snapshot(1), change(2), bookmark(2), change(3), change(4)]],
    ["from a revision on", [change(3), bookmark(3), bookmark(3), change(4)]],
    ["of bookmarks", [bookmark(2), bookmark(2)]],
    ["that is empty", []],
  ])("accept a valid history %s", (_, history) => {
    expect(broken(history, truth)).toEqual([]);
  });

  test.each<[keyof typeof guarantees, Recorded[]]>([
    ["ordered", [change(2), change(1)]],
    ["ordered", [change(2), bookmark(1)]],
    ["unique", [change(1), change(2), change(2)]],
    ["reliable", [change(1), change(3)]],
    ["reliable", [snapshot(1), change(3)]],
    ["atomic", [change(1), { ...change(2), values: { k1: "2" } }]],
    ["bookmarked", [change(1), bookmark(3)]],
    ["bookmarked", [bookmark(2), change(1)]],
    ["consistent", [snapshot(2, { k1: "1" })]],
    ["consistent", [snapshot(1), { ...change(2), values: { k1: "other" } }]],
  ])("detect a history that is not %s", (guarantee, history) => {
    expect(guarantees[guarantee](history, truth)).not.toEqual([]);
  });
});
