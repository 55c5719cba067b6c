import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { explainConflict, RevisionConflict } from "../../src/ledger/conflict.ts";
import { createRecordEtags } from "../../src/ledger/record-etag.ts";
import type { LedgerStore, RevisionSummary } from "../../src/ledger/store.ts";
import { hasStale, withoutStale } from "../../src/settings/conflict.ts";
import type { SettingItem } from "../../src/settings/item.ts";
import type { SettingInput } from "../../src/settings/save.ts";
import { MASK } from "../../src/settings/value.ts";
import { changed, commit } from "../store/sample.ts";
import { customItem, item, snapshotOf } from "./staged.ts";

const conflict = expect.objectContaining({ code: Code.Aborted });

const revision = (number: number, keys: readonly string[]): RevisionSummary => ({
  ...commit({ revision: number }),
  changes: keys.map((key) => ({ kind: "setting", key, oldAttributes: null, newAttributes: null })),
});
const listing = (...revisions: readonly RevisionSummary[]) => ({
  store: { listRevisions: vi.fn<LedgerStore["listRevisions"]>(async () => revisions) },
  nameOf: ({ key }: { readonly key: string }) => key,
});

test.each([
  [["a", "b", "c"], "a, b, c"],
  [["a", "b", "c", "d"], "a, b, c …"],
])("a conflict names three settings: %j as %s", async (keys, named) => {
  const error = await explainConflict(new RevisionConflict(1), listing(revision(2, keys)));
  expect(error).toEqual(conflict);
  expect(error.message).toContain(`Z: ${named}.`);
});

const etags = createRecordEtags({
  of: (value) => createHash("sha256").update(value).digest("hex"),
});
const etag = (revision: number, content: string) => etags.of({ key: "a", revision, content });

describe("a setting sent back after a read", () => {
  const now = customItem("a", "new", { revision: 3 });

  const read = etag(2, "old");

  test.each<[string, SettingItem, Partial<SettingInput>, boolean]>([
    ["before its change, with the old value", now, { seenEtag: read, value: "old" }, true],
    ["before its change, with the new value", now, { seenEtag: read, value: "new" }, false],
    ["after its change", now, { seenEtag: etag(3, "new"), value: "old" }, false],
    ["of the same revision before a restore", now, { seenEtag: etag(3, "x"), value: "old" }, true],
    ["of a later revision before a restore", now, { seenEtag: etag(9, "x"), value: "old" }, true],
    ["without an etag", now, { value: "old" }, false],
    ["that does not exist", now, { key: "b", seenEtag: read, value: "old" }, false],
    ["as plain text equal to the mask", now, { seenEtag: read, value: MASK }, true],
    ["as the mask of a secret", { ...now, secret: true }, { seenEtag: read, value: MASK }, false],
    ["as a secret", { ...now, secret: true }, { seenEtag: read, value: "old" }, true],
  ])("%s is stale: %s", (_, there, input, isStale) => {
    const inputs = [{ key: "a", ...input }, { key: "beside" }];
    expect(hasStale(inputs, snapshotOf(4, [there, customItem("beside", "")]), etags)).toBe(
      isStale && input.key === undefined,
    );
    expect(hasStale(inputs.slice(0, 1), snapshotOf(4, [there]), etags)).toBe(false);
  });

  const known = item("new", { key: "a", default: "default" }, 3);
  type First = { readonly oldBody?: string; readonly oldHashes?: { readonly value: string } };
  interface Past {
    /** Revision of the caller's own last save since the read. */
    readonly own?: number;
    readonly oldest?: number;
    readonly first?: First;
    readonly isOf?: boolean | undefined;
  }
  const left = async (there: SettingItem, seenEtag: string, value: string, past: Past = {}) => {
    const { own, oldest = 1, first, isOf } = past;
    const change = first && changed({ kind: "setting", key: "a", ...first });
    const store = {
      oldestRevision: async () => oldest,
      lastChangesBy: async () => new Map(own === undefined ? [] : [["a", own]]),
      firstChanges: async (
        _kind: string,
        queries: readonly { readonly key: string; readonly after: number }[],
      ) => queries.flatMap((one) => (change === undefined ? [] : [{ ...one, change }])),
    };
    const fingerprint = { isOf: () => isOf } as never;
    const sent = [{ key: "a", value, seenEtag }, { key: "beside" }];
    const base = snapshotOf(4, [there, customItem("beside", "", { group: there.group })]);
    const deps = { store, fingerprint, etags, actor: "me" };
    const { inputs } = await withoutStale(sent, base, deps);
    return inputs.length - 1;
  };
  const refused = async (work: Promise<unknown>) =>
    expect(work).rejects.toBeInstanceOf(RevisionConflict);

  test("that is unchanged is left out, without the history", async () => {
    expect(await left(now, read, "old")).toBe(0);
    expect(await left(now, read, "typed")).toBe(1);
    expect(await left(now, etag(3, "x"), "x")).toBe(0);
    expect(await left(now, etag(3, "x"), "typed")).toBe(1);
  });

  test("at its default is left out as well", async () => {
    expect(await left(known, "0", "default")).toBe(0);
    expect(await left(known, "0", "typed")).toBe(1);
    expect(await left(now, "0", "old")).toBe(1);
  });

  test("after the caller's own save is compared with that, as far as the history goes back", async () => {
    const there = customItem("a", "new", { revision: 4 });
    const first = { oldBody: "mine" };
    expect(await left(there, read, "mine", { own: 3, oldest: 4, first })).toBe(0);
    expect(await left(there, read, "old", { own: 3, oldest: 4, first })).toBe(1);
    expect(await left(there, read, "old", { own: 4 })).toBe(1);
    await refused(left(there, read, "old", { own: 3, oldest: 5, first }));
  });

  test("as a secret is compared by its hash, and refused when the key of the hash is missing", async () => {
    const past = { own: 2, first: { oldHashes: { value: "h" } } };
    expect(await left(now, read, "old", { ...past, isOf: true })).toBe(0);
    expect(await left(now, read, "old", { ...past, isOf: false })).toBe(1);
    await refused(left(now, read, "old", { ...past, isOf: undefined }));
  });

  test("in a list of several groups is saved without comparison", async () => {
    const there = snapshotOf(4, [now, customItem("b", "", { group: 1 })]);
    const inputs = [
      { key: "a", value: "old", seenEtag: read },
      { key: "b", value: "" },
    ];
    expect((await withoutStale(inputs, there, {} as never)).inputs).toBe(inputs);
  });
});
