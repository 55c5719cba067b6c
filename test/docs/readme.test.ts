import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const root = new URL("../../", import.meta.url);
const readme = readFileSync(new URL("README.md", root), "utf8");

test("every npm command of the README is a script of the package", () => {
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const named = [...readme.matchAll(/npm (?:run (?:-s )?)?(start|test|[a-z]+)\b/g)]
    .map(([, name = ""]) => name)
    .filter((name) => !["ci", "from", "or"].includes(name));
  expect(named).toContain("start");
  expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
});

test("every document and folder that the README links to exists", () => {
  for (const [, path = ""] of readme.matchAll(/\]\((?!https?:)([^)#]+)\)/g))
    expect(() => readFileSync(new URL(path, root)), path).not.toThrow(/ENOENT/);
});
