import { expect, test } from "vitest";
import { didYouMean, nearest } from "../../src/messages/nearest.ts";

test.each([
  ["hoem", ["home", "pier"], ["home"]],
  ["hmoe", ["home"], ["home"]],
  ["ab", ["ba"], ["ba"]],
  ["eomh", ["home"], []],
  ["HOME", ["home"], ["home"]],
  ["hom", ["home", "homestead"], ["home", "homestead"]],
  ["harbuor", ["harbour"], ["harbour"]],
  ["quay", ["pier"], []],
  ["", ["home"], []],
])("names similar to %j among %j", (word, candidates, found) => {
  expect(nearest(word, candidates)).toEqual(found);
});

test("a question names at most three candidates", () => {
  expect(String(didYouMean("site", ["site1", "site2", "site3", "site4"]))).toBe(
    ' Did you mean "site1", "site2" or "site3"?',
  );
  expect(didYouMean("quay", ["pier"])).toBe("");
});
