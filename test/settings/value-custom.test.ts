import { describe, expect, it } from "vitest";
import {
  type CustomSetting,
  checkCustomDefinition,
  customDefinition,
} from "../../src/settings/custom.ts";

const good: CustomSetting = {
  key: "my_key",
  type: "string",
  options: "",
  group: 0,
  flag: 1,
  help: "",
};

const asNew = { isNew: true, isKnown: (key: string) => key === "token" || key === "site_title" };

describe("a custom setting", () => {
  it.each<Partial<CustomSetting>>([
    {},
    { key: "k" },
    { key: "😀".repeat(255) },
    { key: "two words" },
    { key: "заголовок" },
    { key: "标题" },
    { key: "caf\u00e9" },
    { key: "tok\u0435ns" },
    { type: "select", options: "a" },
    { type: "select", options: ",a,b" },
    { type: "number", group: -(2 ** 31) },
    { group: 2 ** 31 - 1, flag: 3 },
    { help: "x".repeat(4_096) },
  ])("may be %.60j", (part) => {
    expect(checkCustomDefinition({ ...good, ...part }, asNew)).toEqual([]);
  });

  it.each<[string, Partial<CustomSetting>, string]>([
    ["key", { key: "" }, "must not be empty"],
    ["key", { key: "x".repeat(256) }, "more than 255 characters"],
    ["key", { key: "x".repeat(1_000_000) }, "more than 255 characters"],
    ["key", { key: " a" }, "white space"],
    ["key", { key: "a\nb" }, "control characters"],
    ["key", { key: "a\u2028b" }, "control characters"],
    ["key", { key: "a\ud800" }, "control characters"],
    [
      "key",
      { key: "site_title\u200b" },
      "invisible, bidirectional or unassigned characters; it has U+200B",
    ],
    ["key", { key: "a\u202eb" }, "U+202E"],
    ["key", { key: "a\u3164b" }, "U+3164"],
    ["key", { key: "a\u00a0b" }, "U+00A0"],
    ["key", { key: "a\ufe0fb" }, "U+FE0F"],
    ["key", { key: "a\u0378b" }, "U+0378"],
    ["key", { key: "a\ue000b" }, "U+E000"],
    ["key", { key: "cafe\u0301" }, "form NFC"],
    ["key", { key: "tok\u0435n" }, "looks like the setting token"],
    ["key", { key: "\uff54oken" }, "looks like the setting token"],
    ["key", { key: "s\u0456te_title" }, "looks like the setting site_title"],
    ["type", { type: "float" }, "must be string, text, number, bool or select"],
    ["type", { type: "" }, "must be string"],
    ["type", { type: "constructor" }, "must be string"],
    ["options", { type: "select" }, "must list the choices"],
    ["options", { type: "select", options: ",," }, "must list the choices"],
    ["options", { options: "a,b" }, "must be empty for a string"],
    ["options", { type: "select", options: "x".repeat(4_097) }, "more than 4096 bytes"],
    ["group", { group: 2 ** 31 }, "whole number from -2147483648"],
    ["group", { group: 1.5 }, "whole number"],
    ["group", { group: Number.NaN }, "whole number"],
    ["flag", { flag: 4 }, "whole number from 0 to 3"],
    ["flag", { flag: -1 }, "whole number from 0 to 3"],
    ["help", { help: "ü".repeat(2_049) }, "more than 4096 bytes"],
    ["help", { help: "a\0" }, "NUL"],
  ])("is refused with the name of its member: %s of %.60j", (field, part, message) => {
    expect(checkCustomDefinition({ ...good, ...part }, asNew)).toEqual([
      { field, description: expect.sentence(message) },
    ]);
  });

  it("that exists keeps its key, also an invalid one", () => {
    const setting = { ...good, key: "tok\u0435n\u200b", flag: 3 };
    expect(checkCustomDefinition(setting, { ...asNew, isNew: false })).toEqual([]);
  });

  it("is refused for all its members at once", () => {
    const fields = checkCustomDefinition(
      {
        key: "",
        type: "x",
        options: "a\0",
        group: 0.5,
        flag: 9,
        help: "\0",
      },
      asNew,
    ).map(({ field }) => field);
    expect(fields).toEqual(["key", "type", "options", "group", "flag", "help"]);
  });

  it("has a frozen definition like one of the program", () => {
    const definition = customDefinition({ ...good, secret: true });
    expect(definition).toMatchObject({ ...good, default: "", secret: true, decimal: true });
    expect(Object.isFrozen(definition)).toBe(true);
  });
});
