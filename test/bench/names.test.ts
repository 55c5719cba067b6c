import { spawnSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

function bench(...args: readonly string[]) {
  const program = join(ROOT, "bench/main.ts");
  return spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
}

test("pages name only experiments that the bench has", () => {
  const names = bench("--list")
    .stdout.split("\n")
    .map((line) => line.split(" ", 1)[0]);
  expect(names).toContain("rest-public");
  for (const file of globSync(["docs/*.md", "docs/zh-CN/*.md", "*.md"], { cwd: ROOT })) {
    const text = readFileSync(join(ROOT, file), "utf8");
    const named = [...text.matchAll(/npm run bench -- (?:--only )?([a-z][\w,-]*)/g)];
    for (const name of named.flatMap(([, list = ""]) => list.split(",")))
      expect(names, `${file} names ${name}`).toContain(name);
  }
});

test("the bench refuses an unknown name, and says how names are listed", () => {
  const { status, stderr } = bench("--only", "rest-public,nonsense");
  expect(status).toBe(1);
  expect(stderr).toContain('there is no experiment "nonsense": see npm run bench -- --list');
});
