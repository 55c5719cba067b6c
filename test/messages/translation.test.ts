import { describe, expect, it } from "vitest";
import {
  createTranslations,
  LANGUAGES,
  readTranslations,
  sourceHash,
} from "../../src/messages/language.ts";
import { sourceTexts } from "../../tools/translations.ts";

const sources = sourceTexts();
const texts = new Map(sources.map(({ source, text }) => [source, text]));

/** Marks that a translation must keep unchanged: placeholders, addresses, code. */
const MARKS =
  /\{\{?[\w.:]+\}?\}|https?:\/\/[\w-]+(?:\.[\w-]+)*|(?<![\w.])[a-z]+(?:_[a-z0-9]+)+(?![\w.])/g;

describe.each(LANGUAGES.filter((language) => language !== "en"))("the texts in %s", (language) => {
  const translated = readTranslations(language);
  const bySource = new Map([...translated.values()].map(({ source, text }) => [source, text]));

  it("exist for every English text", () => {
    const missing = sources.filter(({ source }) => !bySource.has(source));
    expect(missing.map(({ file, name }) => `${file}#${name}`)).toEqual([]);
  });

  it("have an English text each: npm run translations removes others", () => {
    const stale = [...translated].filter(([, { source }]) => !texts.has(source));
    expect(stale.map(([name]) => name)).toEqual([]);
  });

  it("keep placeholders, addresses and the names of items", () => {
    const lost = sources.flatMap(({ file, name, source, text }) => {
      const made = bySource.get(source) ?? "";
      const marks = [...text.matchAll(MARKS)].map(([mark]) => mark);
      return marks.filter((mark) => !made.includes(mark)).map((mark) => `${file}#${name}: ${mark}`);
    });
    expect(lost).toEqual([]);
  });

  it("are in the language, and end as sentences where the English ones do", () => {
    for (const { file, name, source, text } of sources) {
      const made = bySource.get(source) ?? "";
      if (file === "labels.json" || name.startsWith("(label)") || file === "errors.json") continue;
      expect(made, `${file}#${name}`).toMatch(/\p{Script=Han}/u);
      if (text.endsWith(".")) expect(made, `${file}#${name}`).toMatch(/[。！？）]$/u);
    }
  });
});

describe("a translation", () => {
  const translate = createTranslations();

  it("falls back to the English text", () => {
    expect(translate("zh-CN")("No such text.")).toBe("No such text.");
    expect(translate("zh-CN")("Mount path")).toBe("挂载路径");
    expect(translate("en")("Mount path")).toBe("Mount path");
  });

  it("is read once", () => {
    expect(translate("zh-CN")).toBe(translate("zh-CN"));
  });

  it("is found by the hash of its source alone", () => {
    expect(sourceHash("Mount path")).toMatch(/^[0-9a-f]{8}$/);
    expect(new Set(sources.map(({ source }) => source)).size).toBe(sources.length);
  });
});
