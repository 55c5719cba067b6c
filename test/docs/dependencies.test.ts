import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { sectionOf } from "../slow/docs/steps.ts";

const ROOT = join(import.meta.dirname, "../..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const page = read("docs/dependencies.md");
const manifest = JSON.parse(read("package.json"));
const dependencies = Object.keys(manifest.dependencies);
const devDependencies = Object.keys(manifest.devDependencies);

/** Packages that files of the running program import. */
function importedPackages(): Set<string> {
  const names = globSync("src/**/*.ts", {
    cwd: ROOT,
    exclude: ["src/console/**", "src/client/web.ts"],
  }).flatMap((file) =>
    [...read(file).matchAll(/(?:from|import\() ?"((?:@[\w-]+\/)?[a-z][\w.-]*)(?:\/[^"]*)?"/g)].map(
      ([, name = ""]) => name,
    ),
  );
  return new Set(names);
}

describe("the page of dependencies", () => {
  test.each([
    ["## Of the running program", dependencies],
    ["## Of builds, tests and checks", devDependencies],
  ])("%s lists those of package.json, each with a purpose", (title, names) => {
    const rows = [...sectionOf(page, title).matchAll(/^\| `([^`]+)` \| (.+) \|$/gm)];
    expect(rows.map(([, name]) => name)).toEqual(names);
  });
});

test("the archives have the Node of package.json", () => {
  const { optionalDependencies } = JSON.parse(read("tools/platforms/package.json"));
  const lock = JSON.parse(read("tools/platforms/package-lock.json"));
  for (const [name, version] of Object.entries(optionalDependencies)) {
    expect(version, name).toBe(manifest.dependencies.node);
    expect(lock.packages[`node_modules/${name}`].version, name).toBe(version);
  }
});

describe("package.json", () => {
  const imported = importedPackages();

  test("has only what the running program imports in its dependencies", () => {
    expect(dependencies.filter((name) => name !== "node" && !imported.has(name))).toEqual([]);
  });

  test("has everything that the running program imports in its dependencies", () => {
    expect(imported.size).toBeGreaterThan(15);
    expect(devDependencies.filter((name) => imported.has(name))).toEqual([]);
  });

  test("has exact versions", () => {
    const versions = { ...manifest.dependencies, ...manifest.devDependencies };
    expect(Object.values(versions).filter((one) => !/^\d+\.\d+\.\d+$/.test(String(one)))).toEqual(
      [],
    );
  });
});
