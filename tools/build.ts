// Builds a package: the program in a few JavaScript files with its data and the console, in dist/
// or a given folder. Code of other packages is bundled, because finding and reading a thousand
// small files takes longer than the rest of a start. A package with native code is not bundled. With
// --when-changed nothing is done while the package is newer than its sources, or if
// the packages of the build are not installed (`npm prune --omit=dev`): then it runs as it was built.
import { cpSync, existsSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import type { ModuleInfo, Plugin } from "rolldown";
import { isStale } from "./built.ts";
import { buildConsole } from "./console.ts";

const EXTERNAL = /^better-sqlite3$/;

const root = resolve(import.meta.dirname, "..");
const source = join(root, "src");

/**
 * Keeps the paths of source files, which the program uses to find other files, and which a bundle
 * would change.
 */
function keepPlaces(format: "cjs" | "es"): Plugin {
  const [folder, url] =
    format === "es"
      ? ["import.meta.dirname", "import.meta.url"]
      : ["__dirname", 'process.getBuiltinModule("node:url").pathToFileURL(__filename)'];
  return {
    name: "keep-places",
    transform: (code, id) => {
      if (!id.startsWith(source) || !code.includes("import.meta.")) return null;
      const place = relative(source, id);
      return code
        .replaceAll("import.meta.dirname", `(${folder} + "/${dirname(place)}")`)
        .replaceAll("import.meta.url", `new URL("${place}", ${url})`);
    },
  };
}

const BUILT_IN = "\0built-in:";

/**
 * Replaces imports of Node's own modules. `import … from "node:http"` reads all exports of the module,
 * and thereby loads what only some of them need: `WebSocket` of node:http the whole HTTP client,
 * `MIMEType` of node:util its parser. docs/decisions/0008-the-package-is-what-runs.md has the figures.
 */
const builtInsOnDemand: Plugin = {
  name: "built-ins-on-demand",
  // The runtime of the bundle itself imports node:module.
  resolveId: (id) =>
    isBuiltin(id) && id !== "node:module" ? `${BUILT_IN}${id.replace("node:", "")}.cjs` : null,
  load: (id) =>
    id.startsWith(BUILT_IN)
      ? `module.exports = process.getBuiltinModule("node:${id.slice(BUILT_IN.length, -".cjs".length)}");`
      : null,
};

/**
 * Entries of each file that a start loads, in their order; a module goes to the first file that has an
 * entry which imports it. Node takes half a millisecond to find, open and link each file.
 */
const FILES: Readonly<Record<string, readonly string[]>> = {
  // Answers `/ping`.
  listen: ["app/serve.ts"],
  // While it is loaded, the first requests arrive.
  log: ["telemetry/log.ts"],
  // Shared with the client, which loads nothing else of the service.
  common: ["cli/cli.ts", "cli/world.ts"],
  service: [
    "app/http-server.ts",
    "store/sqlite/store.ts",
    "app/mooring.ts",
    "telemetry/metrics.ts",
    "telemetry/metrics-server.ts",
  ],
};

/** The modules that a module imports, with those that they import, and itself. */
function importedBy(id: string, info: (id: string) => ModuleInfo | null, found: Set<string>): void {
  if (found.has(id)) return;
  found.add(id);
  for (const next of info(id)?.importedIds ?? []) importedBy(next, info, found);
}

/** Puts the modules of a start into few files. */
function fewFiles() {
  const modules = new Map<string, Set<string>>();
  const plugin: Plugin = {
    name: "few-files",
    buildEnd() {
      for (const [name, entries] of Object.entries(FILES)) {
        const found = new Set<string>();
        for (const entry of entries)
          importedBy(join(source, entry), (id) => this.getModuleInfo(id), found);
        modules.set(name, found);
      }
    },
  };
  const isIn = (name: string) => (id: string) => modules.get(name)?.has(id) === true;
  const isStarted = (id: string) => isIn("log")(id) || isIn("service")(id);
  const groups = [
    { name: "listen", test: isIn("listen"), priority: 4 },
    { name: "common", test: (id: string) => isIn("common")(id) && isStarted(id), priority: 3 },
    { name: "log", test: isIn("log"), priority: 2 },
    { name: "service", test: isIn("service"), priority: 1 },
  ];
  return { plugin, groups };
}

/**
 * Escapes characters outside of ASCII, which are in literals only. V8 keeps the text of each loaded
 * file in memory, and takes two bytes for each character if one of them is not in Latin-1.
 */
function asciiOnly(code: string): string {
  const escaped = (unit: string): string =>
    `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  return code.replace(/[^\0-\x7f]/g, escaped);
}

/** The function that app/code-cache.ts runs. The sources are ECMAScript modules, which are strict. */
function asFunction(code: string): string {
  return `(function(exports,require,module,__filename,__dirname){"use strict";${code}\n})\n`;
}

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
  const few = fewFiles();
  await using bundle = await rolldown({
    input: { program: join(source, "app/program.ts") },
    platform: "node",
    external: EXTERNAL,
    plugins: [keepPlaces("cjs"), builtInsOnDemand, few.plugin],
    // Warnings about code of other packages are hidden.
    logLevel: "silent",
  });
  const { output } = await bundle.write({
    dir: join(target, "src"),
    // Loaded by app/code-cache.ts.
    format: "cjs",
    entryFileNames: "[name].cjs",
    chunkFileNames: "[name]-[hash].cjs",
    codeSplitting: { groups: few.groups },
    // A third of the text, which V8 keeps in memory; lines and names stay readable in stack traces.
    comments: false,
  });
  for (const file of output)
    if (file.type === "chunk")
      writeFileSync(join(target, "src", file.fileName), asFunction(asciiOnly(file.code)));
  await buildFirstFile();
  cpSync(join(source, "data"), join(target, "src/data"), { recursive: true });
  cpSync(join(root, "package.json"), join(target, "package.json"));
  const program = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  const page = await buildConsole(join(target, "src/console"));
  writeFileSync(LAST, licences([...program, ...page]));
}

/** Builds the file that loads the others. */
async function buildFirstFile(): Promise<void> {
  const { rolldown } = await import("rolldown");
  await using bundle = await rolldown({
    input: { main: join(source, "app/packaged.ts") },
    platform: "node",
    plugins: [keepPlaces("es"), builtInsOnDemand],
    logLevel: "silent",
  });
  await bundle.write({ dir: join(target, "src"), entryFileNames: "[name].js", comments: false });
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
