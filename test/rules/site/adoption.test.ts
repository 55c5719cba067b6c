import fc from "fast-check";
import { expect, test } from "vitest";
import { withRuleInput } from "../../../src/rules/input.ts";
import { NO_VALUES, type Rule, wantedOn } from "../../../src/rules/rule.ts";
import { foundInput } from "../../../src/rules/site/adoption.ts";
import { compareRule } from "../../../src/rules/site/compare.ts";
import { bodyOf, createSiteUsers, isRuleRow, type RuleRow } from "../../../src/rules/site/row.ts";
import { NEW_SITE } from "../../../src/sites/site.ts";
import { createSiteNames } from "../../../src/sites/site-names.ts";
import { anyText } from "../../any-text.ts";

const sites = createSiteNames([
  { ...NEW_SITE, id: "h", name: "home" },
  { ...NEW_SITE, id: "q", name: "quay" },
]);
const users = createSiteUsers([
  { id: 1, name: "admin" },
  { id: 2, name: "guest" },
  { id: 30, name: "ann" },
]);
const text = anyText({ maxLength: 40 });
/** Ids of users, of which 7 and 9 do not exist any more. */
const ids = fc.option(fc.uniqueArray(fc.constantFrom(1, 2, 30, 7, 9), { maxLength: 4 }));
const flag = fc.boolean();
const row = fc.record({
  id: fc.integer({ min: 1, max: 1_000_000 }),
  path: fc.constantFrom("/", "/films", "/ä b/电影", "/a/b/c"),
  password: text,
  p_sub: flag,
  write: flag,
  w_sub: flag,
  hide: text,
  h_sub: flag,
  readme: text,
  r_sub: flag,
  header: text,
  header_sub: flag,
  read_users: ids,
  read_users_sub: flag,
  write_users: ids,
  write_users_sub: flag,
});
const ofAlist = row.map(
  ({ read_users: _r, read_users_sub: _s, write_users: _w, write_users_sub: _t, ...rest }) => rest,
);
const before = fc.option(
  fc.record({
    siteIds: fc.constantFrom<Rule["siteIds"]>(["h"], ["h", "q"], ["q"], "all", []),
    readme: text,
    own: fc.option(fc.record({ readme: text, password: text })),
  }),
);

test("any rule of a server is adopted without loss: it compares equal, and is sent back as it was", () => {
  fc.assert(
    fc.property(fc.oneof(row, ofAlist), before, (given, current) => {
      const found = given as RuleRow;
      expect(isRuleRow(found)).toBe(true);
      const rule: Rule | undefined =
        current === null
          ? undefined
          : {
              path: found.path,
              values: { ...NO_VALUES, readme: current.readme, read_users: ["ann"] },
              siteIds: current.siteIds,
              overrides: current.own === null ? {} : { h: { path: "", values: current.own } },
              missing: [],
              revision: 4,
            };
      const input = foundInput(
        { name: found.path, row: found },
        rule,
        { id: "h", name: "home" },
        {
          users,
          sites,
          etagOf: () => "e",
        },
      );
      const adopted = withRuleInput(rule, input, { field: "", sites, carries: true });
      expect(adopted.violations).toEqual([]);
      const wanted = wantedOn({ ...adopted.rule, revision: 5 }, "h");
      expect(compareRule(wanted, found, { users, sent: 5 })).toEqual([]);
      if (!Object.hasOwn(found, "read_users")) return;
      const { read_users, write_users, ...sent } = bodyOf(wanted, users, found);
      const { read_users: r, write_users: w, ...same } = found;
      expect(sent).toEqual(same);
      expect([read_users, write_users]).toEqual([r ?? [], w ?? []]);
    }),
    { numRuns: 500 },
  );
});

test("values of other sites stay as they are", () => {
  fc.assert(
    fc.property(
      row,
      fc.constantFrom<Rule["siteIds"]>(["h", "q"], "all", ["q"]),
      (found, siteIds) => {
        const rule: Rule = {
          path: found.path,
          values: { ...NO_VALUES, readme: "shared", password: "shared-password" },
          siteIds,
          overrides: {},
          missing: [],
          revision: 4,
        };
        const input = foundInput(
          { name: found.path, row: found },
          rule,
          { id: "h", name: "home" },
          {
            users,
            sites,
            etagOf: () => "e",
          },
        );
        const adopted = withRuleInput(rule, input, { field: "", sites, carries: true }).rule;
        expect(wantedOn(adopted, "q").values).toEqual(rule.values);
        if (siteIds !== "all") expect(adopted.siteIds).toContain("q");
      },
    ),
  );
});
