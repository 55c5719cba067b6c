// Makes a package: the program in a few JavaScript files beside its data, in dist/ or in the folder
// that is named. What it needs of other packages is bundled with it: to find and read a thousand small
// files takes longer than all the rest of a start. Packages with native code or with threads of their
// own stay packages.
import { cpSync, globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { type Plugin, rolldown } from "rolldown";

const EXTERNAL = /^(?:better-sqlite3|pino|pino-pretty)$/;

const root = resolve(import.meta.dirname, "..");
const source = join(root, "src");

/** Files of the program find others by their own place, which they lose in a bundle. */
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

const [folder = join(root, "dist")] = process.argv.slice(2);
const target = resolve(folder);
rmSync(target, { recursive: true, force: true });
await build();

/** Types are left to `npm run check`. */
async function build(): Promise<void> {
  await using bundle = await rolldown({
    input: { main: join(source, "main.ts") },
    platform: "node",
    external: EXTERNAL,
    plugins: [keepPlaces],
    // What it says of other packages' code is for their authors.
    logLevel: "silent",
  });
  const { output } = await bundle.write({
    dir: join(target, "src"),
    entryFileNames: "[name].js",
    chunkFileNames: "[name]-[hash].js",
  });
  cpSync(join(source, "data"), join(target, "src/data"), { recursive: true });
  cpSync(join(root, "package.json"), join(target, "package.json"));
  const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  writeFileSync(join(target, "LICENSES.txt"), licences(modules));
}

/** The licences of the packages whose code is in the bundle, as they ask for. */
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
