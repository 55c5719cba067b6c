import { describe, expect, test } from "vitest";
import {
  covers,
  createGrant,
  grantProblems,
  NOTHING,
  ROOT,
  SCOPES,
} from "../../src/access/grant.ts";

describe("limits", () => {
  test.each<[string, string, number | undefined, boolean]>([
    ["key:s3_*", "s3_buckets", undefined, true],
    ["key:s3_*", "s3_", undefined, true],
    ["key:s3_*", "S3_buckets", undefined, false],
    ["key:s3_*", "ss3_buckets", undefined, false],
    ["key:site_title", "site_title", 1, true],
    ["key:site_title", "site_title2", 1, false],
    ["key:*_url", "qbittorrent_url", undefined, true],
    ["key:*_url", "qbittorrent_url_x", undefined, false],
    ["key:a*b*c", "a__b__c", undefined, true],
    ["key:a*b*c", "ac", undefined, false],
    ["key:aa*aa", "aaa", undefined, false],
    ["key:*", "anything", undefined, true],
    ["key:a.c", "abc", undefined, false],
    ["group:9", "s3_buckets", 9, true],
    ["group:9", "s3_buckets", 90, false],
    ["group:9", "gone", undefined, false],
  ])("%s with %s of group %s: %s", (limit, key, group, allowed) => {
    expect(createGrant(["settings:read"], [limit]).allows(key, group)).toBe(allowed);
  });

  test("one of several has to fit", () => {
    const { allows } = createGrant(["settings:read"], ["key:a*", "group:2"]);
    expect([allows("ab", 1), allows("b", 2), allows("b", 1)]).toEqual([true, true, false]);
  });

  test("a pattern of many stars takes no longer than its length says", () => {
    const { allows } = createGrant(["settings:read"], [`key:${"*a".repeat(100)}*b`]);
    expect(allows("a".repeat(255), undefined)).toBe(false);
  });
});

test("scopes include what they are of no use without", () => {
  const grant = createGrant(["settings:write", "history:rollback"], []);
  expect(grant.scopes).toEqual([
    "history:read",
    "history:rollback",
    "settings:read",
    "settings:write",
  ]);
  expect(grant.has("settings:reveal")).toBe(false);
});

test("a grant covers no more than it holds", () => {
  const writer = createGrant(["settings:write"], []);
  const reader = createGrant(["settings:read"], []);
  expect(covers(writer, reader)).toBe(true);
  expect(covers(reader, writer)).toBe(false);
  expect(covers(createGrant(["settings:write"], ["key:a"]), reader)).toBe(false);
  for (const scope of SCOPES) expect(covers(ROOT, createGrant([scope], []))).toBe(true);
});

test.each<[string[], string[], string]>([
  [["settings:reed"], [], "unknown scope"],
  [[], [], "give at least one scope"],
  [["root"], [], "unknown scope"],
  [["settings:read"], ["s3_*"], "invalid limit"],
  [["settings:read"], ["key:"], "invalid limit"],
  [["settings:read"], ["key:a b"], "invalid limit"],
  [["settings:read"], ["group:x"], "invalid limit"],
  [["settings:read", "sites:read"], ["key:a"], "sites:read cannot be limited"],
  [["settings:read"], Array.from({ length: 101 }, (_, at) => `key:a${at}`), "at most 100"],
])("%j limited to %j is refused", (scopes, limits, problem) => {
  const problems = grantProblems(scopes, limits).map(({ description }) => description);
  expect(problems).toEqual([expect.sentence(problem)]);
});

test("a caller without a token is granted nothing", () => {
  expect([NOTHING.isRoot, NOTHING.has("drivers:read"), NOTHING.allows("site_title", 1)]).toEqual([
    ...[false, false, false],
  ]);
});

test("a hundred limits fit, and one more does not", () => {
  const limits = (count: number) => Array.from({ length: count }, (_, at) => `group:${at}`);
  expect(grantProblems(["settings:read"], limits(100))).toEqual([]);
  expect(grantProblems(["settings:read"], limits(101))).toMatchObject([{ field: "limits" }]);
});

test("an unknown scope with a limit is one problem, of the scope", () => {
  const problems = grantProblems(["nonsense"], ["key:a"]);
  expect(problems.map(({ field }) => field)).toEqual(["scopes[0]"]);
});
