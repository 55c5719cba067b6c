import { expect, test } from "vitest";
import { changedSecrets, isVoid, toChange, toCommit, toWrite } from "../../src/ledger/commit.ts";
import type { PartTexts, StoredChange } from "../../src/ledger/store.ts";
import type { SettingItem } from "../../src/settings/item.ts";
import { SETTINGS, settingRules } from "../../src/settings/kind.ts";
import { tester } from "../settings/parts.ts";
import { customItem, item } from "../settings/staged.ts";
import { changed } from "../store/sample.ts";

const rules = settingRules([]);
const codec = {
  rules: () => rules,
  hashes: ({ value }: PartTexts) => (value === undefined ? null : { value: `#${value}` }),
};
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
    { oldBody: null, newBody: null, oldHashes: { value: "#1" }, newHashes: { value: "#2" } },
  ],
])("the history has %s", (_, before, after, expected) => {
  expect(change(before, after)).toMatchObject({ kind: "setting", key: "a", ...expected });
});

test.each<[string, Partial<StoredChange>, boolean, readonly string[]]>([
  ["nothing", {}, true, []],
  ["the open part", { newBody: "b" }, false, []],
  ["the attributes", { newAttributes: "{}" }, false, []],
  ["a new secret part", { newHashes: { p: "1" } }, false, ["p"]],
  ["a removed secret part", { oldHashes: { p: "1" } }, false, ["p"]],
  [
    "one of several secret parts",
    { oldHashes: { p: "1", q: "1", __proto__: "1" }, newHashes: { p: "1", q: "2" } },
    false,
    ["q"],
  ],
  ["none of the secret parts", { oldHashes: { p: "1" }, newHashes: { p: "1" } }, true, []],
])("a change differs in %s", (_, members, isSame, secrets) => {
  const one = changed({ key: "a", oldBody: "a", newBody: "a", ...members });
  expect([isVoid(one), changedSecrets(one)]).toEqual([isSame, secrets]);
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
  const write = await toWrite(commits, { ...codec, toStored: (_kind, item) => item as never });
  expect(write).toMatchObject({
    upserts: [{ key: "a", value: "2" }],
    deletes: [{ kind: "setting", key: "b" }],
    revisions: [{ revision: 1 }, { revision: 2 }],
  });
  expect(write.audit.map(({ subjects, detail, time }) => [subjects, detail, time])).toEqual([
    [["a", "b"], { revision: 1, keys: 2 }, 5],
    [["a", "b"], { revision: 2, keys: 2, reason: "why" }, 5],
  ]);
});
