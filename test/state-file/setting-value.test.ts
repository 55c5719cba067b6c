import { expect, test } from "vitest";
import { formats } from "../../src/settings/format/registry.ts";
import { shapeOf } from "../../src/state-file/setting-value.ts";

test("every format of settings defines the meaning of a list and a mapping", () => {
  for (const name of Object.keys(formats) as (keyof typeof formats)[])
    expect(["json", "lines", "commas", "text"]).toContain(shapeOf(name));
  expect(shapeOf(undefined)).toBe("text");
});
