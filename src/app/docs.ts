import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { HttpFault } from "../gateway/failure.ts";
import { memoize } from "../memoize.ts";
import {
  type Coding,
  readCompressed,
  type StaticFile,
  type StaticFolder,
  securityHeaders,
  serveStatic,
} from "./static-files.ts";

export interface DocsOptions {
  /** Folder of the built site. Default: that of the package, or of `npm start`. */
  readonly folder?: string | undefined;
  /** Path in front of `/docs/` as browsers see it, such as `/@mooring`. Default: none. */
  readonly below?: string;
  /** Whether the service has the REST reference at `/reference` (formerly at `/docs`). */
  readonly hasReference?: boolean;
  readonly slowReaders?: StaticFolder["slowReaders"];
}

/** Folder in the package, and output folders of the build. */
const FOLDERS = ["../docs", "../../site", "../../../site"].map((path) =>
  join(import.meta.dirname, path),
);

/** Written by tools/site.ts: files with their entity tags. */
const MANIFEST = "site.json";
const SECURITY = securityHeaders();
/** Page for paths without a file. */
const MISSING = "404.html";

/** Files that the build leaves uncompressed. */
const PLAIN = [".png"];
/** Absolute paths of the site in its files; not paths of other hosts (`https://host/docs/`). */
const OWN_ADDRESS = /(?<![\w.-])\/docs\//g;

interface Site {
  readonly folder: string;
  /** Path below `/docs/` to entity tag. */
  readonly files: ReadonlyMap<string, string>;
}

/**
 * Fastify plugin that serves the documentation site at `/docs/`. Files are sent as the build has
 * compressed them; only their names and entity tags are kept in memory.
 */
export async function docsPlugin(
  fastify: FastifyInstance,
  { folder, below = "", hasReference = false, slowReaders }: DocsOptions = {},
): Promise<void> {
  const siteOf = memoize(readSite);
  serveStatic(fastify, {
    path: "/docs",
    label: "the documentation",
    slowReaders,
    find: (path) => {
      if (path === "") return { status: 302, location: hasReference ? "reference" : "docs/" };
      if (path === "/reference" && hasReference) return { status: 302, location: "../reference" };
      const built = [folder ?? FOLDERS].flat().find(isBuilt);
      if (built === undefined)
        throw new HttpFault(
          503,
          'the documentation site is not built: run "npm run docs:site", then reload',
        );
      const site = siteOf(built);
      const name = path.slice(1);
      const file = fileOf(site, name);
      if (file === undefined && site.files.has(`${name}/index.html`))
        return { status: 308, location: `${name.slice(name.lastIndexOf("/") + 1)}/` };
      const moved = file === undefined ? movedTo(site, name) : undefined;
      if (moved !== undefined) return { status: 308, location: moved };
      return page(site, file ?? MISSING, below);
    },
  });
}

function isBuilt(folder: string): boolean {
  return existsSync(join(folder, MANIFEST));
}

function readSite(folder: string): Site {
  const { files } = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as {
    readonly files: Readonly<Record<string, string>>;
  };
  return { folder, files: new Map(Object.entries(files)) };
}

/** The file of a path below `/docs/`: pages have no extension in their addresses. */
function fileOf({ files }: Site, name: string): string | undefined {
  if (name === "" || name.endsWith("/")) return present(files, `${name}index.html`);
  return (
    present(files, `${name}.html`) ?? (name.endsWith(".html") ? undefined : present(files, name))
  );
}

/**
 * Relative address of a page that was asked for by the name of its file (`access.html`, `access.md`)
 * or as a folder (`access/`); undefined: there is no such page.
 */
function movedTo({ files }: Site, name: string): string | undefined {
  const [, stem = "", end] = /^(.+?)(\.html|\.md|\/)$/.exec(name) ?? [];
  if (stem === "" || `${stem}.html` === MISSING || !files.has(`${stem}.html`)) return undefined;
  const last = stem.slice(stem.lastIndexOf("/") + 1);
  if (last === "index") return "./";
  return end === "/" ? `../${last}` : last;
}

function present(files: Site["files"], name: string): string | undefined {
  return files.has(name) ? name : undefined;
}

/** File of a reply. @param below path to put in front of the `/docs/` of its addresses. */
function page({ folder, files }: Site, name: string, below: string): StaticFile {
  const path = join(folder, name);
  const isPlain = PLAIN.includes(extname(name));
  // Files below another path are rewritten for each request; Brotli would be too slow.
  const codings: readonly Coding[] = below === "" ? ["br", "gzip"] : ["gzip"];
  const tag = files.get(name) ?? "";
  return {
    name,
    status: name === MISSING ? 404 : 200,
    security: SECURITY,
    cacheControl: name.startsWith("assets/")
      ? "public, max-age=31536000, immutable"
      : "public, no-cache",
    tag: below === "" ? tag : `${tag}-below`,
    codings: isPlain ? [] : codings,
    read: async (coding) => {
      if (isPlain) return readFile(path);
      return below === "" ? readCompressed(path, coding) : readBelow(path, coding, below);
    },
  };
}

/** Text file with a path put in front of its own addresses. Compression runs in the thread pool. */
async function readBelow(path: string, coding: Coding | undefined, below: string): Promise<Buffer> {
  const text = (await readCompressed(path, undefined)).toString("utf8");
  const moved = Buffer.from(text.replace(OWN_ADDRESS, `${below}/docs/`));
  return coding === "gzip" ? promisify(gzip)(moved) : moved;
}
