import { hash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import type { FastifyInstance } from "fastify";
import { HttpFault } from "../gateway/failure.ts";
import {
  readCompressed,
  type StaticFile,
  type StaticFolder,
  securityHeaders,
  serveStatic,
} from "./static-files.ts";

export interface ConsoleOptions {
  /** Folder of the built console. Default: that of the package, or of `npm run build`. */
  readonly folder?: string;
  /** Path of the services, relative to the console. Default: its parent. */
  readonly services?: string;
  /** Path of the API reference, relative to the console. Default: no link. */
  readonly reference?: string;
  /** Path of logins at the upstream, relative to the console. Default: tokens only. */
  readonly login?: string;
  /** Sources that may show the console in frames. Default: none. */
  readonly frameAncestors?: readonly string[];
  readonly slowReaders?: StaticFolder["slowReaders"];
}

/** Folder in the package, and output folder of the build. */
const FOLDERS = ["../console", "../../dist/src/console"].map((path) =>
  join(import.meta.dirname, path),
);

/** Page for the address of the console itself. */
const FIRST_PAGE = "/overview";

/**
 * Fastify plugin that serves the console at `/console/`, below the plugin's prefix. The address of
 * a page returns the HTML document of that page. All other files are immutable: a changed file has
 * another name. File names and entity tags are read at the first request.
 */
export async function consolePlugin(
  fastify: FastifyInstance,
  options: ConsoleOptions = {},
): Promise<void> {
  const { folder, services = "../", reference = "", login = "", slowReaders } = options;
  const security = securityHeaders({
    frameAncestors: options.frameAncestors ?? [],
    // Of console/rules/hide.ts, for the address of its worker.
    trustedTypes: "mooring-worker",
  });
  let files: Files | undefined;
  const read = (): Files => {
    const own = `data-services="${services}" data-reference="${reference}"`;
    const places = login === "" ? own : `${own} data-login="${login}"`;
    files ??= readConsole([folder ?? FOLDERS].flat().find(isBuilt), places, security);
    return files;
  };
  serveStatic(fastify, {
    path: "/console",
    label: "the console",
    slowReaders,
    find: (name) => {
      if (name === "") return { status: 308, location: "console/" };
      const isPage = extname(name) === "";
      const file = isPage ? documentOf(read(), name) : read().get(name);
      if (file === undefined || (isPage && name.lastIndexOf("/") > 0))
        throw new HttpFault(404, `the console has no ${name.slice(0, 200)}`);
      return file;
    },
  });
}

type Files = ReadonlyMap<string, StaticFile>;

/** HTML document of a page, with preloads of its files; other paths get the general document. */
function documentOf(files: Files, path: string): StaticFile | undefined {
  const own = path === "/" ? FIRST_PAGE : path;
  return files.get(`${own}.html`) ?? files.get("/index.html");
}

function isBuilt(folder: string): boolean {
  return existsSync(join(folder, "index.html.br"));
}

/** @throws HttpFault when the console has not been built, as in a run from source. */
function readConsole(
  folder: string | undefined,
  places: string,
  security: StaticFile["security"],
): Files {
  if (folder === undefined)
    throw new HttpFault(503, 'the console is not built: run "npm run build", then reload');
  const names = globSync("**/*.br", { cwd: folder }).map((name) => name.slice(0, -".br".length));
  return new Map(
    names.map((name) => {
      const path = name.split(sep).join("/");
      const file = extname(name) === ".html" ? document(folder, name, places) : asset(folder, name);
      return [`/${path}`, { ...file, security }];
    }),
  );
}

function asset(folder: string, name: string): Omit<StaticFile, "security"> {
  const path = join(folder, name);
  return {
    name,
    cacheControl: "public, max-age=31536000, immutable",
    tag: tagOf(readFileSync(`${path}.br`)),
    codings: ["br", "gzip"],
    read: (coding) => readCompressed(path, coding),
  };
}

/** HTML document, sent uncompressed. @param places attributes with the paths of services. */
function document(folder: string, name: string, places: string): Omit<StaticFile, "security"> {
  const text = readFileSync(join(folder, name), "utf8");
  const bytes = Buffer.from(text.replace("<html ", `<html ${places} `));
  return {
    name,
    cacheControl: "no-cache",
    tag: tagOf(bytes),
    codings: [],
    read: async () => bytes,
  };
}

function tagOf(bytes: Buffer): string {
  return hash("sha256", bytes, "base64url").slice(0, 22);
}
