import { expect, test } from "vitest";
import { unpairedSurrogate, withoutUnpairedSurrogates } from "../src/json-surrogate.ts";

test.each([
  ['"\\ud800"', '"\\ufffd"', 1],
  ['"\\uDC00\\uD800"', '"\\ufffd\\ufffd"', 1],
  ['"\\ud83d\\ude00\\ud83d"', '"\\ud83d\\ude00\\ufffd"', 13],
  ['{"\\ud800x": 1}', '{"\\ufffdx": 1}', 2],
  ['"\\ud800\\n\\udc00"', '"\\ufffd\\n\\ufffd"', 1],
  ['"\\\\\\udfff"', '"\\\\\\ufffd"', 3],
])("an unpaired surrogate is found and replaced: %s", (text, replaced, offset) => {
  expect(unpairedSurrogate(text)).toBe(offset);
  expect(withoutUnpairedSurrogates(text)).toBe(replaced);
  expect(JSON.parse(replaced)).toEqual(wellFormed(JSON.parse(text)));
});

test.each([
  '"\\ud83d\\ude00"',
  '"\\\\ud800"',
  '"\\\\\\\\udc00"',
  '"\\ud7ff\\ue000"',
  '"\u{1f600}"',
  "",
])("a text without one stays: %s", (text) => {
  expect(unpairedSurrogate(text)).toBeUndefined();
  expect(withoutUnpairedSurrogates(text)).toBe(text);
});

function wellFormed(value: string | Readonly<Record<string, unknown>>): unknown {
  if (typeof value === "string") return value.toWellFormed();
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name.toWellFormed(), one]));
}
