import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");
const FILES = [
  "README.zh-CN.md",
  "SECURITY.zh-CN.md",
  "src/console/i18n/zh-cn.ts",
  ...globSync(["docs/zh-CN/*.md", "src/data/i18n/zh-CN/**/*.json"], { cwd: ROOT }),
  // Its table has the rejected words.
].filter((file) => file !== "docs/zh-CN/languages.md");

/** The table of words in the page about languages. */
const page = readFileSync(join(ROOT, "docs/languages.md"), "utf8");
const [, table = ""] = page.split("### Words");
const words = [...table.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]*)\|$/gm)].flatMap(
  ([, english = "", right = "", not = ""]) =>
    not
      .split(",")
      .map((word) => word.trim())
      .filter((word) => /\p{Script=Han}/u.test(word))
      .map((wrong) => [wrong, right, english] as const),
);

/** Words that are wrong for one of their meanings only. */
const MEANINGS: readonly (readonly [wrong: RegExp, right: string])[] = [
  // Mounts as a noun: beside settings, counted, or after a word that only a noun follows.
  [/设置(?:、|和|与)挂载|\d 个挂载|另一个挂载|(?:此|该|个|每个|所有)挂载(?!路径)/, "存储"],
  [/(?:保留的|读取|导出|不含|包含|明文)密钥(?!文件)|密钥(?:明文|的明文|设置)/, "机密"],
];

/** Places at which a line has a word. */
function placesOf(hasWord: (line: string) => boolean): string[] {
  return FILES.flatMap((file) =>
    readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .flatMap((line, at) => (hasWord(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [])),
  );
}

test("the table has rejected words", () => {
  expect(words.length).toBeGreaterThan(15);
  expect(words.map(([wrong]) => wrong)).toEqual(expect.arrayContaining(["修订", "资料夹"]));
});

test.each(words)("no Chinese text has %s: it is %s (%s)", (wrong) => {
  expect(placesOf((line) => line.includes(wrong))).toEqual([]);
});

test.each(MEANINGS)("no Chinese text has %s: it is %s", (wrong) => {
  expect(placesOf((line) => wrong.test(line))).toEqual([]);
});

test("messages have Chinese quotes around commands and names", () => {
  const file = join(ROOT, "src/data/i18n/zh-CN/errors.json");
  const messages: Record<string, { text?: string }> = JSON.parse(readFileSync(file, "utf8"));
  const texts = Object.entries(messages).flatMap(([name, { text = "" }]) => ({ name, text }));
  expect(texts.length).toBeGreaterThan(500);
  expect(texts.filter(({ text }) => text.includes('"'))).toEqual([]);
});
