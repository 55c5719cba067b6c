import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Snapshot } from "../../src/ledger/snapshot.ts";
import { knownItem, type SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { defined } from "../settings/parts.ts";
import { snapshotOf } from "../settings/staged.ts";

function item(key: string, value = "", revision = 1, position = 0): SettingItem {
  return { ...knownItem(defined({ key }), value, revision), position };
}

const keys = (snapshot: Snapshot): string[] =>
  [...snapshot.of(SETTINGS).items()].map(({ key }) => key);
const many = (count: number) => Array.from({ length: count }, (_, at) => item(`k${at}`));

describe("a snapshot", () => {
  test("has its items in the order of insertion", () => {
    const snapshot = snapshotOf(7, [item("b"), item("a"), item("c", "", 1, 4)]);
    expect(keys(snapshot)).toEqual(["b", "a", "c"]);
    expect(snapshot.revision).toBe(7);
    const view = snapshot.of(SETTINGS);
    expect(view).toMatchObject({ size: 3, lastPosition: 4 });
    expect([view.indexOf("c"), view.indexOf("nobody")]).toEqual([2, -1]);
  });

  test("shares unchanged items with the next one", () => {
    const before = snapshotOf(1, many(200));
    const after = before.with(2, [{ kind: SETTINGS, key: "k0", item: item("k0", "changed", 2) }]);
    expect(after.get(SETTINGS, "k199")).toBe(before.get(SETTINGS, "k199"));
  });

  test("equals a plain map after any changes, and so does every earlier one", () => {
    const key = fc.constantFrom(..."abcdefgh");
    const change = fc.tuple(key, fc.option(fc.string(), { nil: undefined }));
    const rounds = fc.array(fc.array(change, { maxLength: 4 }), { maxLength: 12 });
    fc.assert(
      fc.property(rounds, (changes) => {
        let snapshot = snapshotOf(0, [item("a"), item("b")]);
        const map = new Map([
          ["a", ""],
          ["b", ""],
        ]);
        const seen: [Snapshot, Map<string, string>][] = [];
        changes.forEach((round, at) => {
          snapshot = snapshot.with(
            at + 1,
            round.map(([key, value]) => ({
              kind: SETTINGS,
              key,
              item: value === undefined ? undefined : item(key, value),
            })),
          );
          for (const [key, value] of round)
            if (value === undefined) map.delete(key);
            else map.set(key, value);
          seen.push([snapshot, new Map(map)]);
        });
        for (const [snapshot, map] of seen) {
          const found = [...snapshot.of(SETTINGS).items()].map(
            ({ key, value }) => [key, value] as const,
          );
          expect(new Map(found)).toEqual(map);
          expect(snapshot.of(SETTINGS).size).toBe(map.size);
          for (const key of "abcdefgh")
            expect(snapshot.get(SETTINGS, key)?.value).toBe(map.get(key));
        }
      }),
    );
  });
});
