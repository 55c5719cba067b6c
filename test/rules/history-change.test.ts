import { expect, test } from "vitest";
import { itemsOfRule } from "../../src/rules/history-change.ts";
import { NO_VALUES, type RuleValues } from "../../src/rules/rule.ts";

const sites = { nameOf: (id: string) => `name of ${id}` };

const itemsOf = (values: Partial<RuleValues>, override: Partial<RuleValues> = {}) =>
  Object.fromEntries(
    itemsOfRule(
      JSON.stringify({
        values: { ...NO_VALUES, ...values },
        siteIds: "all",
        overrides: { s1: { path: "", values: override } },
        missing: [],
      }),
      sites,
    ),
  );

test("members with the value of a new rule are no items, and those of an override are", () => {
  expect(itemsOf({}, { hide: "", write: false })).toEqual({
    sites: "all",
    "overrides.name of s1.hide": "",
    "overrides.name of s1.write": "false",
  });
});

test.each([
  [{ readme: "false" }, { readme: "false" }],
  [
    { header: "false", hide: "false" },
    { header: "false", hide: "false" },
  ],
  [{ write: true }, { write: "true" }],
  [{ read_users: ["ann", "false"] }, { read_users: "ann, false" }],
  [{ read_users: ["false"] }, { read_users: "false" }],
])("%j is shown as it is", (values, items) => {
  expect(itemsOf(values)).toEqual({ sites: "all", ...items });
});
