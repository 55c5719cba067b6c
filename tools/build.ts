// Builds a package: the program in a few JavaScript files with its data and the console, in dist/
// or a given folder. Code of other packages is bundled, because finding and reading a thousand
// small files takes longer than the rest of a start. Packages with native code or threads are not
// bundled. With --when-changed nothing is done while the package is newer than its sources, or if
// the packages of the build are not installed (`npm prune --omit=dev`): then it runs as it was built.
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { Plugin } from "rolldown";
import { isStale } from "./built.ts";
import { buildConsole } from "./console.ts";

const EXTERNAL = /^(?:better-sqlite3|pino|pino-pretty)$/;

const HTTP = /^(?:node:)?https?$/;

const root = resolve(import.meta.dirname, "..");
const source = join(root, "src");

/**
 * Keeps the paths of source files, which the program uses to find other files, and which a bundle
 * would change.
 */
const keepPlaces: Plugin = {
  name: "keep-places",
  transform: (code, id) => {
    if (!id.startsWith(source) || !code.includes("import.meta.")) return null;
    const place = relative(source, id);
    return code
      .replaceAll("import.meta.dirname", `(import.meta.dirname + "/${dirname(place)}")`)
      .replaceAll("import.meta.url", `new URL("${place}", import.meta.url)`);
  },
};

/**
 * Replaces `import … from "node:http"`, which reads all exports including WebSocket and thereby
 * loads Node's whole HTTP client: 30 ms of a start.
 */
const withoutHttpClient: Plugin = {
  name: "without-http-client",
  resolveId: (id) => (HTTP.test(id) ? `\0${id.replace("node:", "")}.cjs` : null),
  load: (id) =>
    id.startsWith("\0http")
      ? `module.exports = process.getBuiltinModule("${id.slice(1, -".cjs".length)}");`
      : null,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "when-changed": { type: "boolean", default: false } },
});
const target = resolve(positionals[0] ?? join(root, "dist"));
/** Written last. */
const LAST = join(target, "LICENSES.txt");

const sources = [
  "package.json",
  "package-lock.json",
  "tools/{build,built,console}.ts",
  "src/**",
  "gen/**",
];
if (values["when-changed"] && !canBuild()) {
  if (!existsSync(LAST))
    throw new Error('dist/ is not built, and the packages of the build are missing: run "npm ci"');
} else if (!values["when-changed"] || isStale(LAST, root, sources)) {
  rmSync(target, { recursive: true, force: true });
  await build();
}

function canBuild(): boolean {
  return existsSync(join(root, "node_modules/rolldown"));
}

/** Builds the package without type checks, which `npm run check` does. */
async function build(): Promise<void> {
  const { rolldown } = await import("rolldown");
  await using bundle = await rolldown({
    input: { main: join(source, "main.ts") },
    platform: "node",
    external: EXTERNAL,
    plugins: [keepPlaces, withoutHttpClient],
    // Warnings about code of other packages are hidden.
    logLevel: "silent",
  });
  const { output } = await bundle.write({
    dir: join(target, "src"),
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  cpSync(join(source, "data"), join(target, "src/data"), { recursive: true });
  cpSync(join(root, "package.json"), join(target, "package.json"));
  const program = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const page = await buildConsole(join(target, "src/console"));
  writeFileSync(LAST, licences([...program, ...page]));
}

/** Licences of the packages in the bundle, which require this. */
function licences(modules: readonly string[]): string {
  const packages = new Set(
    modules.flatMap((file) => /.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file) ?? []),
  );
  return [...packages]
    .sort()
    .map((path) => {
      const { name, version, license } = JSON.parse(
        readFileSync(join(path, "package.json"), "utf8"),
      );
      const [file] = globSync("{LICEN[CS]E,licen[cs]e}*", { cwd: path });
      const text = file === undefined ? "" : readFileSync(join(path, file), "utf8").trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join("\n----\n\n");
}
