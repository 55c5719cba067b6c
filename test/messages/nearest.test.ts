import { describe, expect, test } from "vitest";
import { didYouMean } from "../../src/messages/nearest.ts";
import { nearest, suggestion } from "../../src/suggestion.ts";

test.each([
  ["hoem", ["home", "pier"], ["home"]],
  ["hmoe", ["home"], ["home"]],
  ["ab", ["ba"], ["ba"]],
  ["eomh", ["home"], []],
  ["HOME", ["home"], ["home"]],
  ["hom", ["home", "homestead"], ["home", "homestead"]],
  ["harbuor", ["harbour"], ["harbour"]],
  ["quay", ["pier"], []],
  ["one drive", ["Onedrive"], ["Onedrive"]],
  ["alist v", ["AList V2"], ["AList V2"]],
  ["115", ["115 Cloud", "Local"], ["115 Cloud"]],
  ["thunder", ["Thunder", "Thunder2", "Thunder3", "Thunder4"], ["Thunder", "Thunder2", "Thunder3"]],
  ["", ["home"], []],
  ["  ", ["home"], []],
  ["💾", ["home"], []],
  ["x".repeat(1_000_000), ["home"], []],
])("names similar to %j among %j", (word, candidates, found) => {
  expect(nearest(word, candidates)).toEqual(found);
});

test("a question names at most three candidates", () => {
  expect(String(didYouMean("site", ["site1", "site2", "site3", "site4"]))).toBe(
    ' Did you mean "site1", "site2" or "site3"?',
  );
  expect(didYouMean("quay", ["pier"])).toBe("");
});

describe("a suggestion at the end of a sentence", () => {
  test.each([
    ["listn", "listen"],
    ["lsiten", "listen"],
    ["LISTEN", "listen"],
    ["grpc_listen", "grpc-listen"],
  ])("for %j is %s", (name, similar) => {
    expect(suggestion(name, ["listen", "grpc-listen", "workers", "dir"])).toBe(
      `: did you mean ${similar}?`,
    );
  });

  test("is the other text if no name is similar", () => {
    expect(suggestion("foo", ["get", "put", "list"], ": help lists all")).toBe(": help lists all");
    expect(suggestion("x", [])).toBe("");
  });

  test("is found in bounded time for a name of any length", () => {
    expect(suggestion("x".repeat(10_000_000), ["a", "xx"])).toBe(": did you mean xx?");
  });
});
