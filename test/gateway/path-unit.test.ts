import { describe, expect, test } from "vitest";
import {
  captureVariables,
  cutVerb,
  matchesPath,
  parsePathTemplate,
  splitPath,
} from "../../src/gateway/rest/path.ts";
import { parseQuery, queryValue } from "../../src/gateway/rest/query.ts";

/** Variables of a path by a template without a verb; undefined: it does not match. */
function captured(template: string, path: string): string[] | undefined {
  const parsed = parsePathTemplate(template);
  const parts = splitPath(path);
  return matchesPath(parsed.segments, parts) ? captureVariables(parsed, parts) : undefined;
}

describe("a path template", () => {
  test.each<[string, string, string[] | undefined]>([
    ["/a/{x}", "/a/b", ["b"]],
    ["/a/{x}", "/a/b/c", undefined],
    ["/a/{x}", "/a/", undefined],
    ["/a/{x}", "/b/b", undefined],
    ["/{x=**}", "/a/b/c", ["a/b/c"]],
    ["/{x=**}", "/", [""]],
    ["/{x=**}/{y}", "/a/b/c", ["a/b", "c"]],
    ["/{x=**}/{y}", "/c", ["", "c"]],
    ["/a/{x=**}", "/a", [""]],
    ["/a/{x=**}", "/a//b", ["/b"]],
    ["/a/{x=**}", "/b/c", undefined],
    ["/a/{x=**}/{y}", "/a/b", ["", "b"]],
    ["/{x=**}/b", "/a/c/b", ["a/c"]],
    ["/a/{x=**}/{y}", "/a", undefined],
    ["/a/{x=**}/b/{y}", "/a/1/2/b/3", ["1/2", "3"]],
    ["/a/{x=**}/b/{y}", "/a/1/2/c/3", undefined],
    ["/{x}/{y=**}/{z}", "/1/2/3/4", ["1", "2/3", "4"]],
  ])("%s of the path %s has the variables %j", (template, path, variables) => {
    expect(captured(template, path)).toEqual(variables);
  });

  test("refuses an escape that is not UTF-8", () => {
    expect(() => parsePathTemplate("/a%FF")).toThrow('"a%FF" is not UTF-8 when unescaped');
    expect(() => parsePathTemplate("/{x=**}/{y=**}")).toThrow("** may occur once");
    expect(() => captured("/a/{x}", "/a/%ff")).toThrow('path: "x" holds a broken % escape');
  });
});

test.each<[string, readonly [string, string] | undefined]>([
  ["/a/b:cancel", ["a/b", "cancel"]],
  ["/:cancel", ["", "cancel"]],
  ["/a:b:c", ["a:b", "c"]],
  ["/a%3Ab", undefined],
  ["/a:", undefined],
  ["/a:%ff", undefined],
  ["/a:b%20c", ["a", "b c"]],
  ["/a", undefined],
  ["/", undefined],
])("the path %s has the verb %j", (path, expected) => {
  const cut = cutVerb(splitPath(path));
  expect(cut && [cut.parts.raw.join("/"), cut.verb]).toEqual(expected);
});

describe("a query string", () => {
  const pairs = (text: string) => parseQuery(text).map((pair) => [pair.name, queryValue(pair)]);

  test.each<[string, readonly (readonly [string, string])[]]>([
    [
      "a=1&b=2",
      [
        ["a", "1"],
        ["b", "2"],
      ],
    ],
    ["a", [["a", ""]]],
    ["=1", [["", "1"]]],
    ["a=b=c", [["a", "b=c"]]],
    ["&&a=1&", [["a", "1"]]],
    ["a+b=c+d%2B", [["a b", "c d+"]]],
    // UTF-8 bytes, one character each, as in HTTP/2.
    ["\u00c3\u00a4=\u00c3\u00bc+%C3%B6", [["ä", "ü ö"]]],
  ])("%j is parsed as %j", (text, expected) => {
    expect(pairs(text)).toEqual(expected);
  });

  test.each(["%ff=1", "%=1", "\u00ff=1"])("with the name %j is refused", (text) => {
    expect(() => pairs(text)).toThrow("broken % escape");
  });

  test("with the value %ff is refused by the name", () => {
    expect(() => pairs("a=%ff")).toThrow(/parameter "a": broken % escape/);
  });

  test("has a thousand parameters at most", () => {
    const many = (count: number) => "a=1&".repeat(count);
    expect(pairs(many(1_000))).toHaveLength(1_000);
    expect(() => pairs(many(1_001))).toThrow("more than 1000 parameters");
  });
});
