import { expect, test } from "vitest";
import { shapeOf } from "../../../src/service/provision/value.ts";
import { formats } from "../../../src/service/setting/format/registry.ts";

test("every format of settings says what a list or a mapping means for it", () => {
  for (const name of Object.keys(formats) as (keyof typeof formats)[])
    expect(["json", "lines", "commas", "text"]).toContain(shapeOf(name));
  expect(shapeOf(undefined)).toBe("text");
});
