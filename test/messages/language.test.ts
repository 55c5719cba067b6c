import { describe, expect, it } from "vitest";
import { chooseLanguage } from "../../src/messages/language.ts";

describe("the language of a reply", () => {
  it.each([
    ["", undefined, "en"],
    ["", "", "en"],
    ["", "zh-CN", "zh-CN"],
    ["", "zh", "zh-CN"],
    ["", "ZH-cn,en;q=0.9", "zh-CN"],
    ["", "zh-Hant-TW", "zh-CN"],
    ["", "en-GB,zh-CN;q=0.9", "en"],
    ["", "en;q=0.3,zh-CN;q=0.8", "zh-CN"],
    ["", "de,fr;q=0.9", "en"],
    ["", "de,zh;q=0.1", "zh-CN"],
    ["", "zh;q=0,en", "en"],
    ["", "zh;q=0", "en"],
    ["", "*", "en"],
    ["", "zhu", "en"],
    ["", "zh;q=oops,en;q=0.1", "en"],
    ["", `${"a,".repeat(600)}zh`, "en"],
    ["zh-CN", "en", "zh-CN"],
    ["zh_CN", undefined, "zh-CN"],
    ["en", "zh-CN", "en"],
    ["tlh", "zh-CN", "en"],
    [`zh-${"a-".repeat(50)}`, undefined, "en"],
  ])("requested %j, accepted %j: %s", (requested, accepted, language) => {
    expect(chooseLanguage(requested, accepted)).toBe(language);
  });
});
