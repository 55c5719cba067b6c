import { expect, test } from "vitest";
import { actorOf, tokenIdOf } from "../../src/audit/entry.ts";

test.each([
  [actorOf("backup", "0aB1cD2eF3gH"), "0aB1cD2eF3gH"],
  [actorOf("a.b-c_d", "0aB1cD2eF3gH"), "0aB1cD2eF3gH"],
  ["admin", ""],
  ["upstream:somebody/0aB1cD2eF3gH", ""],
  ["upstream:0aB1cD2eF3gH", ""],
  ["file", ""],
  ["", ""],
])("the token's id in %j is %j", (actor, id) => {
  expect(tokenIdOf(actor)).toBe(id);
});
