import { describe, expect, test } from "vitest";
import { NO_VALUES, type Rule, type RuleValues } from "../../../src/rules/rule.ts";
import { effectsOf, effectsOfFollowing, effectsOn } from "../../../src/rules/site/effect.ts";
import { NEW_RULE, type RuleState } from "../../../src/rules/site/state.ts";

const home = { id: "h", name: "home" };
const at = (values: Partial<RuleValues>, path = "/films") => ({
  path,
  values: { ...NO_VALUES, ...values },
});
const words = (effects: readonly { action: string; path: string }[]) =>
  effects.map(({ action, path }) => `${action} ${path}`).join(", ");

describe("a folder of a running server opens", () => {
  test.each<[string, Partial<RuleValues>, Partial<RuleValues> | undefined]>([
    ["when its password goes", { password: "p" }, {}],
    [
      "when its password does not hold below any more",
      { password: "p", p_sub: true },
      { password: "p" },
    ],
    ["when the list of its readers goes", { read_users: ["ann"] }, {}],
    ["when somebody joins its readers", { read_users: ["ann"] }, { read_users: ["ann", "bob"] }],
    ["when its readers are others", { read_users: ["ann"] }, { read_users: ["bob"] }],
    [
      "when the list does not hold below any more",
      { read_users: ["ann"], read_users_sub: true },
      { read_users: ["ann"] },
    ],
    ["when the list of its writers goes", { write_users: ["ann"] }, {}],
    ["when everybody may write", {}, { write: true }],
    ["when everybody may write below", { write: true }, { write: true, w_sub: true }],
    ["when hidden names are shown", { hide: "a\nb" }, { hide: "b" }],
    ["when its rule with a password is removed", { password: "p" }, undefined],
    ["when its rule with readers is removed", { read_users: ["ann"] }, undefined],
  ])("%s", (_when, before, after) => {
    const found = effectsOn(home, at(before), after && at(after));
    expect(words(found)).toContain("open /films");
  });
});

describe("a folder of a running server does not open", () => {
  test.each<[string, Partial<RuleValues>, Partial<RuleValues> | undefined, string]>([
    ["when nothing changes", { password: "p" }, { password: "p" }, ""],
    ["when it gets a password", {}, { password: "p" }, "change /films"],
    ["when it gets another password", { password: "p" }, { password: "q" }, "change /films"],
    [
      "when somebody leaves its readers",
      { read_users: ["ann", "bob"] },
      { read_users: ["ann"] },
      "change /films",
    ],
    ["when it gets readers", {}, { read_users: ["ann"] }, "change /films"],
    ["when fewer may write", { write: true, w_sub: true }, { write: true }, "change /films"],
    ["when more is hidden", { hide: "a" }, { hide: "b\na" }, "change /films"],
    ["when a rule with a text only is removed", { readme: "x" }, undefined, "remove /films"],
  ])("%s", (_when, before, after, effects) => {
    expect(words(effectsOn(home, at(before), after && at(after)))).toBe(effects);
  });
});

const rule = (values: Partial<RuleValues>, more: Partial<Rule> = {}): Rule => ({
  path: "/films",
  values: { ...NO_VALUES, ...values },
  siteIds: ["h"],
  overrides: {},
  missing: [],
  revision: 3,
  ...more,
});

test("only servers that have the rule before the change are affected, at their own paths", () => {
  const before = rule(
    { password: "p" },
    { siteIds: ["h", "q"], overrides: { q: { path: "/kino", values: {} } } },
  );
  const sites = [home, { id: "q", name: "quay" }, { id: "o", name: "other" }];
  const found = effectsOf({ before, after: undefined }, sites);
  expect(found.map(({ action, site, path }) => `${action} ${site} ${path}`)).toEqual([
    "remove home /films",
    "open home /films",
    "remove quay /kino",
    "open quay /kino",
  ]);
  expect(effectsOf({ before: undefined, after: before }, sites)).toEqual([]);
  const left = rule({ password: "p" }, { siteIds: ["q"], overrides: before.overrides });
  expect(words(effectsOf({ before, after: left }, sites))).toBe("remove /films, open /films");
});

test("a rule that moves on a server leaves its former folder open", () => {
  const before = rule({ password: "p" });
  const after = rule({ password: "p" }, { overrides: { h: { path: "/kino", values: {} } } });
  expect(words(effectsOf({ before, after }, [home]))).toBe("remove /films, open /films");
});

test("a site that begins to follow gets Mooring's values, and loses rules that Mooring has deleted", () => {
  const state = (more: Partial<RuleState>): RuleState => ({
    ...NEW_RULE,
    id: 7,
    path: "/films",
    applied: 3,
    ...more,
  });
  const found = effectsOfFollowing(
    home,
    new Map([
      ["/films", rule({})],
      ["/same", rule({}, { path: "/same" })],
    ]),
    new Map([
      ["/films", state({ differs: ["readme"] })],
      ["/same", state({ path: "/same" })],
      ["/gone", state({ path: "/gone" })],
      ["/theirs", state({ path: "/theirs", applied: 0, differs: ["readme"] })],
      ["/absent", state({ path: "/absent", absent: true })],
    ]),
  );
  expect(found.map(({ name, effects }) => `${name}: ${words(effects)}`)).toEqual([
    "/films: change /films",
    "/gone: remove /gone",
  ]);
});
