import { expect, test } from "vitest";
import { toChange, toCommit, toWrite } from "../../src/ledger/commit.ts";
import type { SettingItem } from "../../src/settings/item.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { MOUNTS, mountItem } from "../../src/settings/mount-key.ts";
import { tester } from "../settings/parts.ts";
import { customItem, item } from "../settings/staged.ts";

const codec = { hash: (value: string) => `#${value}` };
const change = (before: SettingItem | undefined, after: SettingItem | undefined) =>
  toChange({ kind: SETTINGS, key: "a", before, after }, codec);

const custom = customItem("a", "1");
const described = JSON.stringify({ type: "string", options: "", help: "", group: 0, flag: 1 });

test.each<[string, SettingItem | undefined, SettingItem | undefined, object]>([
  [
    "a new custom setting",
    undefined,
    custom,
    { oldBody: null, newBody: "1", oldAttributes: null, newAttributes: described },
  ],
  [
    "a deleted custom setting",
    custom,
    undefined,
    { oldBody: "1", newBody: null, oldAttributes: described, newAttributes: null },
  ],
  [
    "a new value",
    custom,
    { ...custom, value: "2" },
    { oldBody: "1", newBody: "2", oldAttributes: described, newAttributes: described },
  ],
  [
    "a new description",
    custom,
    { ...custom, help: "new" },
    { oldAttributes: described, newAttributes: described.replace('"help":""', '"help":"new"') },
  ],
  [
    "a setting with a definition",
    item("1", { key: "a" }),
    item("2", { key: "a" }),
    { oldBody: "1", newBody: "2", oldAttributes: null, newAttributes: null },
  ],
  [
    "a setting with a definition that becomes a custom one with the same description",
    item("1", { key: "a" }),
    { ...item("1", { key: "a" }), definition: undefined, origin: "custom" },
    { oldAttributes: null, newAttributes: expect.stringContaining('"type"') },
  ],
  [
    "a secret",
    item("1", { key: "a", secret: true }),
    item("2", { key: "a", secret: true }),
    { oldBody: null, newBody: null, oldHash: "#1", newHash: "#2" },
  ],
])("the history has %s", (_, before, after, expected) => {
  expect(change(before, after)).toMatchObject({ key: "a", ...expected });
});

test("a mount has its paths in the history, before and after", () => {
  const mount = (path: string) =>
    mountItem("mount:m", JSON.stringify({ path, overrides: {} }), false);
  const [before, after] = [mount("/a"), mount("/b")];
  expect(
    toChange({ kind: MOUNTS, key: "mount:m", before, after, mount: { before, after } }, codec),
  ).toMatchObject({
    oldAttributes: '{"paths":["/a"]}',
    newAttributes: '{"paths":["/b"]}',
  });
  expect(change(before, after)).toMatchObject({ oldAttributes: null, newAttributes: null });
});

test("a write has the last state of each key, and an audit row for each revision", async () => {
  const committed = (revision: number, reason: string, after: SettingItem | undefined) => ({
    commit: toCommit({ revision, time: 5, origin: { ...tester, reason } }, [
      change(custom, after),
      { ...change(custom, after), key: "b" },
    ]),
    items: [
      { kind: SETTINGS, key: "a", before: custom, after },
      { kind: SETTINGS, key: "b", before: custom, after: undefined },
    ],
  });
  const commits = [committed(1, "", custom), committed(2, "why", { ...custom, value: "2" })];
  const write = await toWrite(
    commits,
    { toStored: (item: unknown) => item as never },
    (key) => key,
  );
  expect(write).toMatchObject({
    upserts: [{ key: "a", value: "2" }],
    deletes: ["b"],
    revisions: [{ revision: 1 }, { revision: 2 }],
  });
  expect(write.audit.map(({ subjects, detail, time }) => [subjects, detail, time])).toEqual([
    [["a", "b"], { revision: 1, keys: 2 }, 5],
    [["a", "b"], { revision: 2, keys: 2, reason: "why" }, 5],
  ]);
});
