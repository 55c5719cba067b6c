// The program with its data and documents, for every package that runs it.
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { softwareBill } from "./bill.ts";
import { modules, readManifest, root, run } from "./step.ts";

/** Packages outside of the bundle: those with native code. */
export const EXTERNAL = ["better-sqlite3"];
/** Packages that only compile native code, which is shipped compiled. */
const FOR_COMPILERS = ["node-addon-api"];
/** First line of each licence in a build: name, version, licence. */
const LICENCE_HEAD = /(?:^|----\n\n)(\S+ \S+) \([^\n]*\)\n/g;
/** Documents for users, beside the program. */
const PAPERS = ["LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "proto"];

/** Builds the bundled program with its data, and a package.json with its dependencies. */
export function makeProgram(folder: string): void {
  run(process.execPath, [join(root, "tools/build.ts"), folder], root);
  addSite(folder);
  const { name, version, description, license, type, engines } = readManifest(root);
  const dependencies = Object.fromEntries(
    EXTERNAL.map((one) => [one, readManifest(join(modules, one)).version]),
  );
  const own = {
    name,
    version,
    description,
    license,
    type,
    engines,
    bin: { mooring: "src/main.js" },
    dependencies,
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  const bundled = [...readFileSync(join(folder, "LICENSES.txt"), "utf8").matchAll(LICENCE_HEAD)];
  const externals = [...closure(EXTERNAL), "node"].map((path) => readManifest(join(modules, path)));
  const inside = new Set([
    ...bundled.map(([, one = ""]) => one.replace(" ", "@")),
    ...externals.map((one) => `${one.name}@${one.version}`),
  ]);
  writeFileSync(
    join(folder, "sbom.cdx.json"),
    `${JSON.stringify(softwareBill(root, inside), null, 2)}\n`,
  );
}

/** Adds the documentation site to the program. */
function addSite(folder: string): void {
  run(process.execPath, [join(root, "tools/site.ts"), "--when-changed"], root);
  cpSync(join(root, "site"), join(folder, "src/docs"), { recursive: true });
}

export function copyPapers(folder: string): void {
  for (const paper of PAPERS)
    cpSync(join(root, paper), join(folder, paper), { recursive: true, force: true });
}

/** Folders of packages and their dependencies, below node_modules. */
export function closure(
  names: readonly string[],
  parent = "",
  found = new Set<string>(),
): readonly string[] {
  for (const one of names) {
    const inner = join(parent, "node_modules", one);
    const path = parent !== "" && existsSync(join(modules, inner)) ? inner : one;
    if (found.has(path) || FOR_COMPILERS.includes(one)) continue;
    found.add(path);
    closure(Object.keys(readManifest(join(modules, path)).dependencies ?? {}), path, found);
  }
  return [...found].sort();
}
