// Builds the console: files with a hash of their content in their names, each with its compressed
// forms.
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants } from "node:zlib";
import type { InlineConfig } from "vite";
import { compress } from "./built.ts";

const root = join(import.meta.dirname, "..");

/**
 * Modules of the first script: the shell, the start page, and the styles, which produce no script.
 */
const SHARED =
  /node_modules\/(?!diff\/)|src\/client\/(?!backup-document|share-text)|src\/console\/(?:api\/(?!all-pages|audit|backup|drivers|incidents|mounts|rules|sites|status|token|users|webhooks)|i18n\/(?!en\/|zh-cn)|components\/(?:button|state|use-action|use-call|text)\.|shell\/(?!palette\.tsx|waiting-page)|settings\/(?:edit|find|label|save)\.|.*\.css$)/;

/** Modules of the script of pages with differences. */
const DIFFERENCE =
  /node_modules\/diff\/|src\/console\/(?:components\/(?:change-list|text-diff)\.tsx|settings\/conflict\.tsx)/;

/** Modules of the script shared by the other pages: texts and components. */
const LATER =
  /src\/console\/(?:i18n\/en\/pages|shell\/waiting-page|components\/(?!pairs|kept-draft|select-field).*\.tsx?$)/;

/** Modules of the script of pages with records: mounts, folder rules, sites and webhooks. */
const RECORDS =
  /src\/console\/(?:records\/(?!delete-dialog|own-values|site-dialog)|components\/(?:kept-draft|select-field)|i18n\/en\/records)/;

/** Script that runs before all others. */
const EARLY = /src\/console\/(?:api\/early|i18n\/preferred)\.ts$/;

/** Options shared by building and developing. */
export const consoleConfig = {
  configFile: false,
  root: join(root, "src/console"),
  // Addresses are relative: a proxy may serve the console below any path.
  base: "./",
  logLevel: "warn",
  // Outside of the source folder, from which only the files of the page are served.
  cacheDir: join(root, "node_modules/.cache/console"),
  // Chrome 123, Firefox 120, Safari 17.5: the first versions with light-dark().
  build: { target: ["chrome123", "firefox120", "safari17.5"], modulePreload: { polyfill: false } },
} as const satisfies InlineConfig;

/**
 * Builds the console into a folder.
 *
 * @returns the paths of the bundled modules.
 */
export async function buildConsole(folder: string): Promise<readonly string[]> {
  const { build } = await import("vite");
  const result = await build({
    ...consoleConfig,
    build: {
      ...consoleConfig.build,
      outDir: folder,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      // Each file costs a round trip, and browsers load six at a time over HTTP/1.1: one style
      // sheet, one script for all pages, and one for the later pages.
      cssCodeSplit: false,
      rolldownOptions: {
        output: {
          codeSplitting: {
            groups: [
              { name: "early", test: EARLY, priority: 2 },
              { name: "shared", test: SHARED, priority: 1 },
              { name: "difference", test: DIFFERENCE, priority: 1 },
              { name: "records", test: RECORDS },
              { name: "later", test: LATER, priority: 1 },
            ],
          },
        },
      },
      reportCompressedSize: false,
    },
  });
  const [made] = Array.isArray(result) ? result : [result];
  if (made === undefined || !("output" in made)) throw new Error("Vite has no output");
  const chunks = made.output.filter((file) => file.type === "chunk");
  writeDocuments(folder, chunks);
  const files = globSync("**/*.*", { cwd: folder });
  await Promise.all(
    files.map((file) => compress(join(folder, file), constants.BROTLI_MAX_QUALITY)),
  );
  return chunks.flatMap((chunk) => chunk.moduleIds);
}

/** Script of the output: its file, its modules, and its static imports. */
interface Chunk {
  readonly name: string;
  readonly fileName: string;
  readonly facadeModuleId: string | null;
  readonly imports: readonly string[];
}

/**
 * Writes NAME.html for each page: the document with preloads of the page's scripts, so that a
 * browser fetches them in parallel.
 */
function writeDocuments(folder: string, chunks: readonly Chunk[]): void {
  const document = withPreloads(readFileSync(join(folder, "index.html"), "utf8"), chunks);
  writeFileSync(join(folder, "index.html"), document);
  const byFile = new Map(chunks.map((chunk) => [chunk.fileName, chunk]));
  for (const chunk of chunks) {
    const [, name] = /src\/console\/([\w-]+)\/page\.tsx$/.exec(chunk.facadeModuleId ?? "") ?? [];
    if (name === undefined || document.includes(chunk.fileName)) continue;
    const files = new Set<string>();
    const add = (file: string): void => {
      if (files.has(file) || document.includes(file)) return;
      files.add(file);
      byFile.get(file)?.imports.forEach(add);
    };
    add(chunk.fileName);
    const links = [...files].map(
      (file) => `<link rel="modulepreload" crossorigin href="./${file}">\n    `,
    );
    const head = document.replace('<link rel="stylesheet"', `${links.join("")}$&`);
    writeFileSync(join(folder, `${name}.html`), head);
  }
}

/** Adds the early script to the document as `async`, before the others. */
function withPreloads(document: string, chunks: readonly Chunk[]): string {
  const early = chunks.find(({ name }) => name === "early")?.fileName;
  if (early === undefined) throw new Error("the early script is missing");
  const script = `<script type="module" async crossorigin src="./${early}"></script>\n    `;
  return document
    .replace(`<link rel="modulepreload" crossorigin href="./${early}">\n    `, "")
    .replace('<script type="module"', `${script}$&`);
}
