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

  test("one of several limits has to match", () => {
    const { allows } = createGrant(["settings:read"], ["key:a*", "group:2"]);
    expect([allows("ab", 1), allows("b", 2), allows("b", 1)]).toEqual([true, true, false]);
  });

  test("matching a pattern of many stars takes linear time", () => {
    const { allows } = createGrant(["settings:read"], [`key:${"*a".repeat(100)}*b`]);
    expect(allows("a".repeat(255), undefined)).toBe(false);
  });
});

test("a grant covers only grants within its own rights", () => {
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

test("an unknown scope with a limit is reported once, at the scope", () => {
  const problems = grantProblems(["nonsense"], ["key:a"]);
  expect(problems.map(({ field }) => field)).toEqual(["scopes[0]"]);
});

test("limits have at most 4,096 characters together, and 100 limits and scopes are accepted", () => {
  const limits = (last: number) => [
    ...Array.from({ length: 15 }, () => "key:".padEnd(256, "a")),
    "key:".padEnd(last, "a"),
  ];
  const fields = (scopes: readonly string[], of: readonly string[] = []) =>
    grantProblems(scopes, of).map(({ field }) => field);
  expect(fields(["settings:read"], limits(256))).toEqual([]);
  const groups = Array.from({ length: 100 }, (_, at) => `group:${at}`);
  expect(fields(["settings:read"], groups)).toEqual([]);
  expect(fields(["settings:read"], limits(257))).toEqual(["limits"]);
  const scopes = (count: number) => Array.from({ length: count }, () => "settings:read");
  expect([fields(scopes(100)), fields(scopes(101))]).toEqual([[], ["scopes"]]);
});

test.each(["mount", "rule"] as const)(
  "a limit of the paths of a %s permits those of this noun alone",
  (noun) => {
    const scope = `${noun}s:read`;
    const other = noun === "mount" ? "rule" : "mount";
    const { allowsPath, allows } = createGrant([scope], [`${noun}:/a/*`, "key:b"]);
    const paths = ["/a/b", "/a/", "/a", "/b", "b"];
    expect(paths.map((path) => allowsPath(noun, path))).toEqual([true, true, false, false, false]);
    expect(paths.some((path) => allowsPath(other, path))).toBe(false);
    expect([allows("b", undefined), allows("/a/b", undefined)]).toEqual([true, false]);
    const limit = (length: number) => `${noun}:/`.padEnd(noun.length + 1 + length, "a");
    for (const each of [
      `${noun}:a`,
      `${noun}:`,
      `${noun}:/\n`,
      limit(256),
      "key:".padEnd(260, "a"),
    ])
      expect(grantProblems([scope], [each])).toMatchObject([{ field: "limits[0]" }]);
    expect(grantProblems([scope], [limit(255), "key:".padEnd(259, "a")])).toEqual([]);
    expect(createGrant([scope], []).allowsPath(noun, "/a")).toBe(true);
    expect(createGrant([scope], ["key:a"]).allowsPath(noun, "/a")).toBe(false);
  },
);

test("root has every right, a caller without a token none, and no other grant is root", () => {
  const grant = createGrant([], []);
  const rights = [ROOT, NOTHING, grant].map(({ isRoot, has, allows, allowsPath }) => [
    isRoot,
    has("settings:read"),
    allows("a", 1),
    allowsPath("mount", "/a"),
    allowsPath("rule", "/a"),
  ]);
  expect(rights).toEqual([
    [true, true, true, true, true],
    [false, false, false, false, false],
    [false, false, true, true, true],
  ]);
  expect(ROOT.scopes).toEqual([...SCOPES].sort());
});

test("each scope includes the scope that it requires, and no other", () => {
  const included = SCOPES.map((scope) => [
    scope,
    createGrant([scope], [])
      .scopes.filter((one) => one !== scope)
      .join(),
  ]).filter(([, others]) => others !== "");
  expect(Object.fromEntries(included)).toEqual({
    "settings:reveal": "settings:read",
    "settings:write": "settings:read",
    "settings:delete": "settings:read",
    "history:rollback": "history:read",
    "sites:manage": "sites:read",
    "mounts:write": "mounts:read",
    "mounts:reveal": "mounts:read",
    "rules:write": "rules:read",
    "rules:reveal": "rules:read",
    "users:write": "users:read",
    "incidents:acknowledge": "incidents:read",
    "webhooks:manage": "incidents:read",
  });
});

test("a refused limit is quoted up to 100 characters", () => {
  const [problem] = grantProblems(["settings:read"], ["x".repeat(101)]);
  expect(String(problem?.description)).toContain(`"${"x".repeat(100)}"`);
});
