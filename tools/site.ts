// Builds the documentation site into site/dist: `npm run docs:site`. Installs VitePress in site/,
// whose packages are no part of Mooring's own. With --when-changed nothing is done while the site
// is newer than its sources.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, globSync, readFileSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { writeContent } from "./site/content.ts";
import { MANIFEST, publish } from "./site/publish.ts";

const root = resolve(import.meta.dirname, "..");
const site = join(root, "site");
const built = join(site, "dist");

const { values } = parseArgs({ options: { "when-changed": { type: "boolean", default: false } } });

if (!values["when-changed"] || madeAt(join(built, MANIFEST)) < Math.max(...sources().map(madeAt))) {
  rmSync(built, { recursive: true, force: true });
  install();
  writeContent(root, join(site, "content"));
  run(join(site, "node_modules/.bin/vitepress"), ["build"]);
  await publish(built);
}

/** Installs the versions of the lock file, unless installed. Scripts of packages are not run. */
function install(): void {
  const lock = join(site, "package-lock.json");
  const done = join(site, "node_modules/.installed-lock.json");
  if (existsSync(done) && readFileSync(done, "utf8") === readFileSync(lock, "utf8")) return;
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
  copyFileSync(lock, done);
}

/** Sources of the site. */
function sources(): string[] {
  const files = [
    ...["docs/**", "*.md", "package.json", "tools/site.ts", "tools/site/**", "src/data/**"],
    ...["site/package-lock.json", "site/.vitepress/**"],
  ];
  return globSync(files, { cwd: root }).map((file) => join(root, file));
}

/** Modification time of a file, in milliseconds since 1970 UTC; 0: no file. */
function madeAt(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function run(command: string, args: readonly string[]): void {
  const env = { ...process.env, NODE_ENV: "production" };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: site, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}${stdout}`);
}
