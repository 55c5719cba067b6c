import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { createDraft } from "../../src/ledger/draft.ts";
import type { SettingDefinition } from "../../src/settings/definition.ts";
import { FLAG, type SettingItem } from "../../src/settings/item.ts";
import {
  decideItems,
  decideValue,
  isHidden,
  problemOf,
  type SaveRules,
  type SettingInput,
} from "../../src/settings/save.ts";
import { checkValue, MASK } from "../../src/settings/value.ts";
import { failureOf } from "../thrown.ts";
import { defined } from "./parts.ts";
import { baseOf, customItem, item, snapshotOf } from "./staged.ts";

const plain = customItem("plain", "a");
const secret = (value: string) => item(value, { key: "secret", secret: true });

const rules: SaveRules = {
  managedBy: () => undefined,
  maxValueBytes: 100,
  hides: (one) => one.secret,
};

/** Result of a save of one input at revision 4, with one stored setting. */
async function decided(
  stored: SettingItem,
  input: Omit<SettingInput, "key">,
  { hides = rules.hides }: Partial<SaveRules> = {},
) {
  const draft = createDraft(baseOf(snapshotOf(4, [stored])));
  const inputs = [{ key: stored.key, ...input }];
  const skipped = await decideItems(draft, inputs, { ...rules, hides });
  return { skipped: skipped.map(({ key }) => key), changes: draft.changes() };
}
const fieldsOf = async (work: Promise<unknown>) =>
  (await failureOf(() => work)).violations.map(({ field }) => field);

test.each<[string, SettingItem | undefined, string | undefined, boolean]>([
  ["of no setting", undefined, "a", false],
  ["that is not sent", secret("a"), undefined, false],
  ["that is the mask", secret("a"), MASK, false],
  ["of a readable setting", plain, "b", false],
  ["that is empty, of an empty secret", secret(""), "", false],
  ["of an empty secret", secret(""), "a", true],
  ["that empties a secret", secret("a"), "", true],
  ["that is the secret", secret("a"), "a", true],
])("a value %s counts as hidden: %s", (_, current, value, hidden) => {
  expect(isHidden(current, value, rules.hides)).toBe(hidden);
  expect(isHidden(current, value)).toBe(false);
});

describe("a read-only setting", () => {
  const open = () => false;
  const fixed = (isSecret: boolean) =>
    item("v1", { key: "fixed", flag: FLAG.readonly, secret: isSecret });

  test.each<[string, boolean, string, SaveRules["hides"], boolean]>([
    ["with its value", false, "v1", rules.hides, false],
    ["with another value", false, "v2", rules.hides, true],
    ["with the mask, which is an ordinary value here", false, MASK, rules.hides, true],
    ["secret, with its mask", true, MASK, rules.hides, false],
    ["secret, with its value", true, "v1", rules.hides, true],
    ["secret, with its value by a caller who may read it", true, "v1", open, false],
    ["secret, with another value by that caller", true, "v2", open, true],
  ])("%s is skipped: %s", async (_, isSecret, value, hides, isSkipped) => {
    const { skipped, changes } = await decided(fixed(isSecret), { value }, { hides });
    expect([skipped, changes]).toEqual([isSkipped ? ["fixed"] : [], []]);
  });

  test("without a value is refused like any other", async () => {
    expect(await fieldsOf(decided(fixed(false), {}))).toEqual(["settings[0].value"]);
  });

  test("cannot be set by changes of the program itself", async () => {
    const draft = createDraft(baseOf(snapshotOf(4, [fixed(false)])));
    const failure = await failureOf(async () => decideValue(draft, "fixed", "v2"));
    expect(failure.violations).toMatchObject([{ field: "fixed.value" }]);
    expect(() => decideValue(draft, "none", "")).toThrow('there is no setting "none"');
  });
});

test("a value equal to the stored one after normalization is accepted, even against the rules", async () => {
  const lots = item("lots", { key: "count", type: "number" });
  for (const value of ["lots", " lots"])
    expect(await decided(lots, { value })).toEqual({ skipped: [], changes: [] });
  const spaced = item(" lots", { key: "count", type: "number" });
  expect((await decided(spaced, { value: " lots" })).changes).toEqual([]);
  expect(await fieldsOf(decided(lots, { value: "many" }))).toEqual(["settings[0].value"]);
});

test("a managed secret that the caller may not read is refused with its own value, too", async () => {
  const draft = () => createDraft(baseOf(snapshotOf(4, [secret("a")])));
  const managed = { ...rules, managedBy: () => "settings.yaml" };
  for (const value of ["a", "b"])
    await expect(decideItems(draft(), [{ key: "secret", value }], managed)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
  const open = { ...managed, hides: () => false };
  expect(await decideItems(draft(), [{ key: "secret", value: "a" }], open)).toEqual([]);
});

test("the value of a secret that the caller may not read is validated and counts as a change", async () => {
  const current = secret("a");
  expect((await decided(current, { value: "a" })).changes).toHaveLength(1);
  expect((await decided(current, { value: MASK })).changes).toEqual([]);
  expect(await fieldsOf(decided(current, { value: "\0" }))).toEqual(["settings[0].value"]);
  const draft = createDraft(baseOf(snapshotOf(4, [current])));
  decideValue(draft, "secret", "a");
  expect(draft.changes()).toEqual([]);
  decideValue(draft, "secret", "a", rules.hides);
  expect(draft.changes()).toHaveLength(1);
});

describe("a custom setting", () => {
  const choice = customItem("choice", "a", { type: "select", options: "a,b", revision: 3 });

  test.each<[string, Partial<SettingItem>, Omit<SettingInput, "key">, boolean]>([
    ["other options that have its value", {}, { options: "a,c" }, true],
    ["other options without its value", {}, { options: "b,c" }, false],
    ["another type that its value does not match", {}, { type: "number", options: "" }, false],
    ["another type alone", { type: "string", options: "" }, { type: "number" }, false],
    ["another help and a value of former rules", { value: "z" }, { help: "new" }, true],
    ["a value that is not an option", {}, { value: "z" }, false],
  ])("with %s is accepted: %s", async (_, members, input, isAccepted) => {
    const current = { ...choice, ...members };
    const saved = decided(current, { value: current.value, ...input });
    if (!isAccepted) return expect(await fieldsOf(saved)).toEqual(["settings[0].value"]);
    expect((await saved).changes).toMatchObject([
      { key: "choice", item: { ...input, revision: 3 } },
    ]);
  });

  test("with an invalid description is refused, whether it is new or not", async () => {
    expect(await fieldsOf(decided(choice, { value: "a", type: "any" }))).toEqual([
      "settings[0].type",
    ]);
    const draft = createDraft(baseOf(snapshotOf(4, [item("1", { key: "count" })])));
    // The first letter is Cyrillic.
    const inputs = [{ key: "\u0441ount", value: "1" }];
    expect(await fieldsOf(decideItems(draft, inputs, rules))).toEqual(["settings[0].key"]);
  });

  test.each([
    ["a", []],
    ["b", ["settings[0].value"]],
  ])("that is read-only is refused by problemOf with another value: %j", (value, fields) => {
    const fixed = { ...choice, flag: FLAG.readonly };
    const draft = createDraft(baseOf(snapshotOf(4, [fixed])));
    const problem = problemOf(draft, { key: "choice", value }, rules);
    expect(problem === undefined ? [] : ["settings[0].value"]).toEqual(fields);
  });

  test("with its value, which is not an option, has no change and a problem", () => {
    const draft = createDraft(baseOf(snapshotOf(4, [choice])));
    expect(problemOf(draft, { key: "choice", value: "a" }, rules)).toBe(undefined);
    expect(problemOf(draft, { key: "choice", value: "b" }, rules)).toBe(undefined);
    expect(String(problemOf(draft, { key: "choice", value: "z" }, rules))).toContain("a, b");
    expect(String(problemOf(draft, { key: "choice" }, rules))).toContain("choice");
  });
});

test.each([
  ["7", /7/],
  ["", /30/],
])("an invalid number is answered with an example: the default %j, or 30", (value, example) => {
  const definition = defined({ key: "count", type: "number", default: value });
  expect(String(checkValue(definition, "x"))).toMatch(example);
});

test.each<[string, Partial<SettingDefinition>, number, boolean]>([
  ["aaa", {}, 3, true],
  ["äaa", {}, 3, false],
  ["5", { type: "number", max: 5 }, 9, true],
  ["6", { type: "number", max: 5 }, 9, false],
  ["5".padStart(32, "0"), { type: "number" }, 99, true],
  ["5".padStart(33, "0"), { type: "number" }, 99, false],
])("the value %j of %j with %d bytes at most is valid: %s", (value, members, bytes, isValid) => {
  const definition = defined({ key: "k", ...members });
  expect(checkValue(definition, value, bytes) === undefined).toBe(isValid);
});
