// Builds the documentation site into site/dist: `npm run docs:site`. Installs VitePress in site/,
// whose packages are no part of Mooring's own. With --when-changed nothing is done while the site
// is newer than its sources.
import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { isStale } from "./built.ts";
import { installLocked } from "./install.ts";
import { writeContent } from "./site/content.ts";
import { MANIFEST, publish } from "./site/publish.ts";

const root = resolve(import.meta.dirname, "..");
const site = join(root, "site");
const built = join(site, "dist");

const { values } = parseArgs({ options: { "when-changed": { type: "boolean", default: false } } });

const sources = [
  "docs/**",
  "*.md",
  "package.json",
  "tools/{site,built}.ts",
  "tools/site/**",
  "src/data/**",
  "site/package-lock.json",
  "site/.vitepress/**",
];
if (!values["when-changed"] || isStale(join(built, MANIFEST), root, sources)) {
  rmSync(built, { recursive: true, force: true });
  installLocked(site);
  writeContent(root, join(site, "content"));
  run(join(site, "node_modules/.bin/vitepress"), ["build"]);
  await publish(built);
}

function run(command: string, args: readonly string[]): void {
  const env = { ...process.env, NODE_ENV: "production" };
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: site, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}${stdout}`);
}
