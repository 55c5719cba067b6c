import { describe, expect, test } from "vitest";
import { elementsOf, textsOf } from "../src/backups/target/http.ts";
import { keyProblem } from "../src/incidents/webhook/send.ts";
import { tidyValues } from "../src/rules/value.ts";
import { withInput } from "../src/sites/input.ts";
import { NEW_SITE } from "../src/sites/site.ts";
import { trimEnd } from "../src/trim-end.ts";

test("a character is removed at the end, and nowhere else", () => {
  expect(trimEnd("/a//b///", "/")).toBe("/a//b");
  for (const [text, character] of [
    ["", "/"],
    ["///", "/"],
  ] as const)
    expect(trimEnd(text, character)).toBe("");
  expect(trimEnd("a", "/")).toBe("a");
});

const MANY = 1_000_000;

/** With quadratic time, each would take minutes. */
describe("texts of a million characters take no longer than their length", () => {
  test("addresses of sites", () => {
    const known = {
      maxValueBytes: 10,
      definitionOf: () => undefined,
      keys: new Set<string>(),
      mayRedirect: () => true,
      mayRetrust: true,
    };
    const url = `http://host/${"/".repeat(MANY)}x`;
    expect(() => withInput(NEW_SITE, { name: "a", token: "t", url }, known)).toThrow("url");
  });

  test("keys of webhooks", () => {
    expect(keyProblem(`whsec_${"=".repeat(MANY)}x`)).toBeDefined();
    expect(keyProblem(`whsec_${Buffer.alloc(32).toString("base64")}`)).toBeUndefined();
    expect(keyProblem(`whsec_${Buffer.alloc(32).toString("base64").replace("=", "")}`)).toBe(
      undefined,
    );
  });

  test("hidden names of folder rules", () => {
    const hide = `${"\r".repeat(MANY)}x\r\r\n\r\n^y$\r`;
    expect(tidyValues({ hide })).toEqual({ hide: `${"\r".repeat(MANY)}x\n^y$` });
  });

  test("lists of backup targets", () => {
    expect(textsOf("<Key ".repeat(MANY / 5), "Key")).toEqual([]);
    expect(elementsOf("<response ".repeat(MANY / 10), "response")).toEqual([]);
    expect(textsOf('<d:href a="b">x</d:href>', "href")).toEqual(["x"]);
  });
});
