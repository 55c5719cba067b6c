import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { explainConflict, RevisionConflict } from "../../src/ledger/conflict.ts";
import { createDraft } from "../../src/ledger/draft.ts";
import type { LedgerStore, RevisionSummary } from "../../src/ledger/store.ts";
import {
  type Expectation,
  expectsAbsent,
  hasStale,
  refuseDeleted,
  refuseDeletedSince,
  withoutStale,
} from "../../src/settings/conflict.ts";
import type { SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import type { SettingInput } from "../../src/settings/save.ts";
import { MASK } from "../../src/settings/value.ts";
import { failureOf } from "../archive/setting.ts";
import { changed, commit } from "../store/sample.ts";
import { baseOf, customItem, item, snapshotOf } from "./staged.ts";

const conflict = expect.objectContaining({ code: Code.Aborted });
const codeOf = async (work: Promise<unknown>) => (await failureOf(() => work)).code;

const revision = (number: number, keys: readonly string[]): RevisionSummary => ({
  ...commit({ revision: number }),
  changes: keys.map((key) => ({ key, oldAttributes: null, newAttributes: null })),
});
const listing = (...revisions: readonly RevisionSummary[]) => ({
  listRevisions: vi.fn<LedgerStore["listRevisions"]>(async () => revisions),
});

test.each([
  [["a", "b", "c"], "a, b, c"],
  [["a", "b", "c", "d"], "a, b, c …"],
])("a conflict names three settings: %j as %s", async (keys, named) => {
  const error = await explainConflict(new RevisionConflict(1), listing(revision(2, keys)));
  expect(error).toEqual(conflict);
  expect(error.message).toContain(`Z: ${named}.`);
});

describe("an expectation", () => {
  const there = snapshotOf(4, [customItem("a", "1")]);

  test.each<[readonly Expectation[], boolean]>([
    [[{ key: "a", expectedRevision: 1 }], false],
    [[{ key: "b", expectedRevision: 0 }], false],
    [[{ key: "b" }], false],
    [[{ key: "b", expectedRevision: 1 }], true],
    [
      [
        { key: "a", expectedRevision: 1 },
        { key: "b", expectedRevision: 1 },
      ],
      true,
    ],
    [[], false],
  ])("%j matches a setting that does not exist: %s", (inputs, isAbsent) => {
    expect(expectsAbsent(inputs, there)).toBe(isAbsent);
  });

  test("of a deleted setting is refused if the deletion is newer", async () => {
    const refused = (expectedRevision: number, ...last: readonly RevisionSummary[]) =>
      refuseDeleted([{ key: "b", expectedRevision }], there, listing(...last));
    expect(await codeOf(refused(2, revision(3, ["b"])))).toBe(Code.Aborted);
    await refused(3, revision(3, ["b"]));
    await refused(2);
    const store = listing(revision(3, ["a"]));
    await refuseDeleted([{ key: "a", expectedRevision: 1 }], there, store);
    expect(store.listRevisions).not.toHaveBeenCalled();
  });

  test.each<[Expectation, boolean]>([
    [{ key: "a", expectedRevision: 1 }, true],
    [{ key: "a", expectedRevision: 0 }, false],
    [{ key: "a" }, false],
    [{ key: "b", expectedRevision: 1 }, false],
    [{ key: "kept", expectedRevision: 1 }, false],
  ])("%j of a setting that is deleted in between is refused: %s", (input, isRefused) => {
    const base = snapshotOf(4, [customItem("a", "1"), customItem("kept", "1")]);
    const draft = createDraft(baseOf(base));
    draft.delete(SETTINGS, "a");
    const check = () => refuseDeletedSince(draft, [input], base);
    if (isRefused) expect(check).toThrow(RevisionConflict);
    else check();
  });
});

describe("a setting sent back after a read", () => {
  const now = customItem("a", "new", { revision: 3 });

  test.each<[string, SettingItem, Partial<SettingInput>, boolean]>([
    ["before its change, with the old value", now, { seenRevision: 2, value: "old" }, true],
    ["before its change, with the new value", now, { seenRevision: 2, value: "new" }, false],
    ["after its change", now, { seenRevision: 3, value: "old" }, false],
    ["at an unknown revision", now, { value: "old" }, false],
    ["that does not exist", now, { key: "b", seenRevision: 2, value: "old" }, false],
    ["as plain text equal to the mask", now, { seenRevision: 2, value: MASK }, true],
    ["as the mask of a secret", { ...now, secret: true }, { seenRevision: 2, value: MASK }, false],
    ["as a secret", { ...now, secret: true }, { seenRevision: 2, value: "old" }, true],
  ])("%s is stale: %s", (_, there, input, isStale) => {
    const inputs = [{ key: "a", ...input }, { key: "beside" }];
    expect(hasStale(inputs, snapshotOf(4, [there, customItem("beside", "")]))).toBe(
      isStale && input.key === undefined,
    );
    expect(hasStale(inputs.slice(0, 1), snapshotOf(4, [there]))).toBe(false);
  });

  const known = item("new", { key: "a", default: "default" }, 3);
  type First = { readonly oldBody?: string; readonly oldHash?: string };
  const left = async (
    there: SettingItem,
    seenRevision: number,
    value: string,
    { oldest = 1, first, isOf }: { oldest?: number; first?: First; isOf?: boolean | undefined },
  ) => {
    const change = first && changed({ key: "a", ...first });
    const store = {
      oldestRevision: async () => oldest,
      lastChangesBy: async () => new Map(),
      firstChanges: async (queries: readonly { readonly key: string; readonly after: number }[]) =>
        queries.flatMap((one) => (change === undefined ? [] : [{ ...one, change }])),
    };
    const fingerprint = { isOf: () => isOf } as never;
    const sent = [{ key: "a", value, seenRevision }, { key: "beside" }];
    const base = snapshotOf(4, [there, customItem("beside", "", { group: there.group })]);
    const { inputs } = await withoutStale(sent, base, { store, fingerprint, actor: "me" });
    return inputs.length - 1;
  };
  const refused = async (work: Promise<unknown>) =>
    expect(work).rejects.toBeInstanceOf(RevisionConflict);

  test("that is unchanged is left out, as far as the history goes back", async () => {
    const first = { oldBody: "old" };
    expect(await left(now, 2, "old", { oldest: 3, first })).toBe(0);
    expect(await left(now, 2, "typed", { oldest: 3, first })).toBe(1);
    await refused(left(now, 2, "old", { oldest: 4, first }));
  });

  test("at its default needs no history", async () => {
    expect(await left(known, 0, "default", { oldest: 3 })).toBe(0);
    expect(await left(known, 0, "typed", { oldest: 3 })).toBe(1);
    await refused(left(known, 1, "default", { oldest: 3 }));
    await refused(left(now, 0, "old", { oldest: 3 }));
  });

  test("as a secret is compared by its hash, and refused when the key of the hash is missing", async () => {
    const first = { oldHash: "h" };
    expect(await left(now, 2, "old", { first, isOf: true })).toBe(0);
    expect(await left(now, 2, "old", { first, isOf: false })).toBe(1);
    await refused(left(now, 2, "old", { first, isOf: undefined }));
  });

  test("in a list of several groups is saved without comparison", async () => {
    const there = snapshotOf(4, [now, customItem("b", "", { group: 1 })]);
    const inputs = [
      { key: "a", value: "old", seenRevision: 2 },
      { key: "b", value: "" },
    ];
    expect((await withoutStale(inputs, there, {} as never)).inputs).toBe(inputs);
  });
});
