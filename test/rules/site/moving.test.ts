import { describe, expect, test } from "vitest";
import { NO_VALUES, type RuleValues, type WantedRule } from "../../../src/rules/rule.ts";
import { createMoving } from "../../../src/rules/site/moving.ts";

const at = (path: string, values: Partial<RuleValues>): WantedRule => ({
  name: path,
  path,
  values: { ...NO_VALUES, ...values },
  isIncomplete: false,
  blindRevision: 0,
  revision: 1,
});
const closed = { password: "p", p_sub: true };

describe("a mount that moves from /films to /movies", () => {
  test.each<[string, WantedRule[], boolean]>([
    ["without rules", [], false],
    ["from a rule with a password", [at("/films", closed)], true],
    ["from a rule with readers", [at("/films", { read_users: ["ann"] })], true],
    ["from a rule with hidden names", [at("/films", { hide: "x" })], true],
    ["from a rule without limits", [at("/films", { readme: "text" })], false],
    ["from a rule whose password is lost", [{ ...at("/films", {}), isIncomplete: true }], true],
    ["to a rule with a password", [at("/movies", closed)], false],
    ["from one password to another", [at("/films", closed), at("/movies", closed)], false],
    ["below the same rule", [at("/", closed)], false],
    ["below the same rule, for its own folder only", [at("/", { password: "p" })], false],
    ["away from a rule of a folder in it", [at("/films/private", closed)], true],
    [
      "away from a deep rule",
      [at("/films/a/b", { read_users: ["ann"] }), at("/movies/a/b", {})],
      true,
    ],
    [
      "to the same rule in it",
      [at("/films/private", closed), at("/movies/private", closed)],
      false,
    ],
    ["beside a rule with a similar path", [at("/films-old/private", closed)], false],
    ["to a folder in which everybody may write", [at("/movies", { write: true })], true],
    ["from a name that is hidden", [at("/", { hide: "^films$", h_sub: true })], true],
  ])("%s", (_name, rules, opens) => {
    expect(createMoving(rules)("/films", "/movies")).toBe(opens);
  });

  test.each([
    ["out of a closed folder", "/closed/films", "/films", true],
    ["into a closed folder", "/films", "/closed/films", false],
    ["from the root", "/", "/all", true],
  ])("%s", (_name, from, to, opens) => {
    expect(createMoving([at("/closed", closed)])(from, to)).toBe(opens);
  });
});
