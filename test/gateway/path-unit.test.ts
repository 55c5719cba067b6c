import { describe, expect, test } from "vitest";
import {
  captureVariables,
  cutVerb,
  matchesPath,
  parsePathTemplate,
  splitPath,
} from "../../src/gateway/rest/path.ts";

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
