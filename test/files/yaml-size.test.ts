import { expect, test } from "vitest";
import { yamlSizeProblem } from "../../src/files/yaml-size.ts";
import { MOUNTS_FILE } from "../../src/state-file/form.ts";
import { parse } from "../state-file/parse.ts";

test.each([
  ["numbers", `settings: [${"1,".repeat(400_000)}1]`],
  ["lists", `settings: [${"[],".repeat(300_000)}1]`],
  ["keys", `settings:\n${" a:\n".repeat(250_000)}`],
  ["comments", `settings:\n${"#\n".repeat(400_000)}`],
  ["brackets", "[".repeat(200_000)],
])("a megabyte of %s is not parsed", (_name, text) => {
  expect(yamlSizeProblem(text)).toMatch(/^the file has more than 150000 words/);
});

test.each([
  ["text", `settings:\n  a: '${"x, ".repeat(300_000)}'\n`],
  [
    "two thousand mounts",
    `mounts:\n${"  name:\n    path: /a\n    driver: Local\n    config:\n      root_folder_path: /srv\n".repeat(2_000)}`,
  ],
])("%s is parsed", (_name, text) => {
  expect(yamlSizeProblem(text)).toBeUndefined();
});

test("a file of mounts with too many words has one problem", () => {
  const text = `mounts:\n${" a:\n".repeat(250_000)}`;
  const { sections, problems } = parse(text, { form: MOUNTS_FILE });
  expect(sections.size).toBe(0);
  expect(problems).toHaveLength(1);
  expect(String(problems[0]?.reason)).toMatch(/more than 150000 words/);
});
