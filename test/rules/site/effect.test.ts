import { describe, expect, test } from "vitest";
import { NO_VALUES, type Rule, type RuleValues } from "../../../src/rules/rule.ts";
import { effectsAt, effectsOf, effectsOfFollowing } from "../../../src/rules/site/effect.ts";
import { linesOf } from "../../../src/rules/site/opening.ts";
import { NEW_RULE, type RuleState } from "../../../src/rules/site/state.ts";
import { PathIndex } from "../../../src/sites/path-index.ts";

/** Effects of the change of one rule of a server without others. */
const effectsOn = (
  site: { readonly name: string },
  before: Placed | undefined,
  after: Placed | undefined,
) => effectsAmong(site, "/films", [before], [after]);

type Placed = ReturnType<typeof at>;
const effectsAmong = (
  site: { readonly name: string },
  path: string,
  before: readonly (Placed | undefined)[],
  after: readonly (Placed | undefined)[],
) =>
  effectsAt(site, path, {
    before: (folder) => before.find((each) => each?.path === folder),
    after: (folder) => after.find((each) => each?.path === folder),
    lines: linesOf,
  });

const home = { id: "h", name: "home" };
const at = (values: Partial<RuleValues>, path = "/films") => ({
  path,
  values: { ...NO_VALUES, ...values },
});
const words = (effects: readonly { action: string; path: string }[]) =>
  effects.map(({ action, path }) => `${action} ${path}`).join(", ");

const TEXT = { readme: "x" };
const LOCKED = { password: "p", p_sub: true };
const readers = (...names: readonly string[]) => ({ read_users: names });
/** Readers of the folder and of those below. */
const readersBelow = (...names: readonly string[]) => ({
  ...readers(...names),
  read_users_sub: true,
});
const writers = { write_users: ["ann"] };
const writersBelow = { ...writers, write_users_sub: true };
const openToAll = { write: true, w_sub: true };

type Values = Partial<RuleValues> | undefined;

describe("a folder of a running server opens", () => {
  test.each<[string, Values, Values]>([
    ["when its password goes", { password: "p" }, {}],
    ["when its password does not hold below any more", LOCKED, { password: "p" }],
    ["when the list of its readers goes", readers("ann"), {}],
    ["when somebody joins its readers", readers("ann"), readers("ann", "bob")],
    ["when its readers are others", readers("ann"), readers("bob")],
    ["when the list does not hold below any more", readersBelow("ann"), readers("ann")],
    ["when the list of its writers goes", writers, {}],
    ["when everybody may write", {}, { write: true }],
    ["when everybody may write below", { write: true }, openToAll],
    ["when hidden names are shown", { hide: "a\nb" }, { hide: "b" }],
    ["when its rule with a password is removed", { password: "p" }, undefined],
    ["when its rule with readers is removed", readers("ann"), undefined],
  ])("%s", (_when, before = {}, after) => {
    const found = effectsOn(home, at(before), after && at(after));
    expect(words(found)).toContain("open /films");
  });
});

describe("a folder of a running server does not open", () => {
  test.each<[string, Values, Values, string]>([
    ["when nothing changes", { password: "p" }, { password: "p" }, ""],
    ["when it gets a password", {}, { password: "p" }, "change /films"],
    ["when it gets another password", { password: "p" }, { password: "q" }, "change /films"],
    ["when somebody leaves its readers", readers("ann", "bob"), readers("ann"), "change /films"],
    ["when it gets readers", {}, readers("ann"), "change /films"],
    ["when fewer may write", openToAll, { write: true }, "change /films"],
    ["when more is hidden", { hide: "a" }, { hide: "b\na" }, "change /films"],
    ["when a rule with a text only is removed", TEXT, undefined, "remove /films"],
  ])("%s", (_when, before = {}, after, effects) => {
    expect(words(effectsOn(home, at(before), after && at(after)))).toBe(effects);
  });
});

describe("the nearest rule of a folder counts", () => {
  const HIDDEN = { hide: "^secret$", h_sub: true };
  const MORE_HIDDEN = { hide: "^secret$\nb", h_sub: true };

  test.each<[what: string, above: Values, before: Values, after: Values, effects: string]>([
    ["a new rule hides the password above it", LOCKED, undefined, TEXT, "open"],
    ["a new rule has its own password", LOCKED, undefined, { password: "q", p_sub: true }, ""],
    ["a new rule has a password for its folder only", LOCKED, undefined, { password: "q" }, "open"],
    ["the password above is for its own folder only", { password: "p" }, undefined, TEXT, ""],
    ["the limiting rule is removed", {}, { password: "p" }, undefined, "remove, open"],
    ["it is removed below the same limit", LOCKED, { password: "q" }, undefined, "remove"],
    ["a rule without password is removed below one", LOCKED, TEXT, undefined, "remove"],
    ["a new rule hides the readers above it", readersBelow("ann"), undefined, TEXT, "open"],
    ["a new one has fewer", readersBelow("ann", "bob"), undefined, readersBelow("ann"), ""],
    ["a new one has other readers", readersBelow("ann"), undefined, readersBelow("bob"), "open"],
    ["fewer are removed", readersBelow("ann", "bob"), readers("ann"), undefined, "remove, open"],
    ["a new rule hides the writers above it", writersBelow, undefined, TEXT, "open"],
    ["writers above are of their own folder only", writers, undefined, TEXT, ""],
    ["a new rule shows what is hidden above and below", HIDDEN, undefined, TEXT, "open"],
    ["a new rule hides the same and more", HIDDEN, undefined, MORE_HIDDEN, ""],
    ["a new rule makes its folder reachable", { hide: "^sub$" }, undefined, TEXT, "open"],
    ["another folder is hidden", { hide: "^other$" }, undefined, TEXT, ""],
    ["a new rule lets everybody write", {}, undefined, { write: true }, "open"],
    ["a rule that forbids writing is removed", openToAll, TEXT, undefined, "remove, open"],
    ["everybody may write below already", openToAll, undefined, openToAll, ""],
    [
      "its own goes and the one above does not count",
      LOCKED,
      { password: "q" },
      TEXT,
      "change, open",
    ],
  ])("%s", (_what, above = {}, before, after, effects) => {
    const placed = (values: Values) => values && at(values, "/films/sub");
    const found = effectsAmong(
      home,
      "/films/sub",
      [at(above), placed(before)],
      [at(above), placed(after)],
    );
    expect(found.map(({ action }) => action).join(", ")).toBe(effects);
  });

  test("also above several folders without a rule, and at the root", () => {
    const sub = at(TEXT, "/films/a/b");
    for (const path of ["/films", "/"])
      expect(
        words(effectsAmong(home, "/films/a/b", [at(LOCKED, path)], [at(LOCKED, path), sub])),
      ).toBe("open /films/a/b");
    const between = [at(LOCKED, "/"), at({}, "/films")];
    expect(effectsAmong(home, "/films/a/b", between, [...between, sub])).toEqual([]);
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

/** Effects of a change of rules on sites; `has`: ids of those that have the rule before it. */
const effectsOfRules = (
  before: readonly Rule[],
  after: readonly Rule[],
  key: string,
  sites: readonly { readonly id: string; readonly name: string }[] = [home],
  has: readonly string[] = sites.map(({ id }) => id),
) => {
  const index = (rules: readonly Rule[]) => new PathIndex(rules.map((each) => [each.path, each]));
  const [was, is] = [index(before), index(after)];
  return effectsOf(
    { before: was.get(key), after: is.get(key), all: { before: () => was, after: () => is } },
    sites.map((site) => ({ site, has: has.includes(site.id) })),
  );
};

test("only servers that have the rule before the change lose it, at their own paths", () => {
  const before = rule(
    { password: "p" },
    { siteIds: ["h", "q", "o"], overrides: { q: { path: "/kino", values: {} } } },
  );
  const sites = [home, { id: "q", name: "quay" }, { id: "o", name: "other" }];
  const found = effectsOfRules([before], [], "/films", sites, ["h", "q"]);
  expect(found.map(({ action, site, path }) => `${action} ${site} ${path}`)).toEqual([
    "remove home /films",
    "open home /films",
    "remove quay /kino",
    "open quay /kino",
  ]);
  expect(effectsOfRules([], [before], "/films", sites)).toEqual([]);
  const left = rule({ password: "p" }, { siteIds: ["q"], overrides: before.overrides });
  expect(words(effectsOfRules([before], [left], "/films", sites, ["h", "q"]))).toBe(
    "remove /films, open /films",
  );
});

test("a rule that moves on a server leaves its former folder open", () => {
  const before = rule({ password: "p" });
  const after = rule({ password: "p" }, { overrides: { h: { path: "/kino", values: {} } } });
  expect(words(effectsOfRules([before], [after], "/films"))).toBe("remove /films, open /films");
});

test("a rule without password that moves below one with a password opens its new folder", () => {
  const parent = rule(LOCKED, { path: "/safe" });
  const after = rule(TEXT, { path: "/safe/films" });
  const before = rule(TEXT);
  const moved = ["/films", "/safe/films"].flatMap((key) =>
    effectsOfRules([parent, before], [parent, after], key),
  );
  expect(words(moved)).toBe("remove /films, open /safe/films");
  const elsewhere = rule(TEXT, { overrides: { h: { path: "/safe/films", values: {} } } });
  expect(words(effectsOfRules([parent, before], [parent, elsewhere], "/films"))).toBe(
    "remove /films, open /safe/films",
  );
});

test("a new name of a rule changes nothing on a server where it has a path of its own", () => {
  const own = { overrides: { h: { path: "/kino", values: {} } } };
  const before = rule(LOCKED, own);
  const after = rule(LOCKED, { path: "/cinema", ...own });
  for (const key of ["/films", "/cinema"])
    expect(effectsOfRules([before], [after], key)).toEqual([]);
});

test("a rule with a lost password counts as one with a password", () => {
  const parent = rule({ p_sub: true }, { missing: [""] });
  const sub = rule(TEXT, { path: "/films/sub" });
  expect(words(effectsOfRules([parent], [parent, sub], "/films/sub"))).toBe("open /films/sub");
});

test("a rule that the server lacks is not removed, and its folder does not open", () => {
  expect(effectsOfRules([rule(LOCKED)], [], "/films", [home], [])).toEqual([]);
});

test("a rule with tens of thousands of lines on 50 sites is compared", () => {
  const before = rule({ hide: "b\n".repeat(32_000).trimEnd(), h_sub: true });
  const after = rule({ hide: `${"a\n".repeat(32_000)}b`, h_sub: true });
  const sites = Array.from({ length: 50 }, (_, at) => ({ id: `s${at}`, name: `site-${at}` }));
  const everywhere = { siteIds: "all" } as const;
  const found = effectsOfRules(
    [{ ...before, ...everywhere }],
    [{ ...after, ...everywhere }],
    "/films",
    sites,
  );
  expect(found.map(({ action }) => action)).toEqual(sites.map(() => "change"));
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
