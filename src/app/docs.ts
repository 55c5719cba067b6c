import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { extname, join } from "node:path";
import { promisify } from "node:util";
import { brotliDecompress, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Coding } from "../gateway/encoded.ts";
import { HttpFault } from "../gateway/failure.ts";
import { createNegotiator } from "../gateway/negotiation.ts";
import { memoize } from "../memoize.ts";
import { matchesTag, securityHeaders } from "./static-reply.ts";

export interface DocsOptions {
  /** Folder of the built site. Default: that of the package, or of `npm run docs:site`. */
  readonly folder?: string | undefined;
  /** Path in front of `/docs/` as browsers see it, such as `/@mooring`. Default: none. */
  readonly below?: string;
  /** Whether the service has the REST reference at `/reference`; `/docs` was its address once. */
  readonly hasReference?: boolean;
}

/** In the package it lies beside the program; the source has it where the last build put it. */
const FOLDERS = ["../docs", "../../site/dist", "../../../site/dist"].map((path) =>
  join(import.meta.dirname, path),
);

/** Written by tools/site.ts: files with their entity tags, and hashes of inline scripts. */
const MANIFEST = "site.json";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** Files that the build leaves uncompressed. */
const PLAIN = [".png"];
const SUFFIXES: Readonly<Record<Coding, string>> = { br: ".br", gzip: ".gz" };
/** The site's own address in its files. The path of another site, `https://host/docs/`, is none. */
const OWN_ADDRESS = /(?<![\w.-])\/docs\//g;

interface Site {
  readonly folder: string;
  /** Path below `/docs/` to entity tag. */
  readonly files: ReadonlyMap<string, string>;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * A Fastify plugin that serves the documentation site at `/docs/`. Files are read and sent compressed
 * as the build has made them; nothing of them stays in memory but their names and entity tags.
 */
export async function docsPlugin(
  fastify: FastifyInstance,
  { folder, below = "", hasReference = false }: DocsOptions = {},
): Promise<void> {
  const siteOf = memoize(readSite);
  const accepted = createNegotiator();
  const serve = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      reply.header("allow", "GET, HEAD");
      throw new HttpFault(405, "the documentation is only read");
    }
    // As it was asked for: Fastify's own routing ignores the slash at the end.
    const [path = ""] = request.url.split("?", 1);
    const name = path.slice(path.indexOf("/docs") + "/docs/".length);
    if (!path.endsWith("/") && name === "")
      return reply.redirect(hasReference ? "reference" : "docs/", 302);
    if (name === "reference" && hasReference) return reply.redirect("../reference", 302);
    const built = [folder ?? FOLDERS].flat().find(isBuilt);
    if (built === undefined)
      throw new HttpFault(
        503,
        'the documentation site is not built: run "npm run docs:site", then reload',
      );
    const site = siteOf(built);
    const file = fileOf(site, name);
    if (file === undefined && site.files.has(`${name}/index.html`))
      return reply.redirect(`${name.slice(name.lastIndexOf("/") + 1)}/`, 308);
    return send({ site, name: file ?? "404.html", below, accepted, request, reply });
  };
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
  for (const url of ["/docs", "/docs/*"])
    fastify.route({ method: methods, url, exposeHeadRoute: false, handler: serve });
}

function isBuilt(folder: string): boolean {
  return existsSync(join(folder, MANIFEST));
}

function readSite(folder: string): Site {
  const { files, scripts } = JSON.parse(readFileSync(join(folder, MANIFEST), "utf8")) as {
    readonly files: Readonly<Record<string, string>>;
    readonly scripts: readonly string[];
  };
  const hashes = scripts.map((script) => `'${script}'`);
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...hashes].join(" "),
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    // Vue makes its policy of this name for all markup that it writes.
    "trusted-types vue",
  ];
  return { folder, files: new Map(Object.entries(files)), headers: securityHeaders(policy) };
}

/** The file of a path below `/docs/`: pages have no extension in their addresses. */
function fileOf({ files }: Site, name: string): string | undefined {
  if (name === "" || name.endsWith("/")) return present(files, `${name}index.html`);
  return (
    present(files, `${name}.html`) ?? (name.endsWith(".html") ? undefined : present(files, name))
  );
}

function present(files: Site["files"], name: string): string | undefined {
  return files.has(name) ? name : undefined;
}

interface Sending {
  readonly site: Site;
  readonly name: string;
  readonly below: string;
  readonly accepted: ReturnType<typeof createNegotiator>;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

async function send(sending: Sending): Promise<unknown> {
  const { site, name, below, accepted, request, reply } = sending;
  const isPlain = PLAIN.includes(extname(name));
  const codings = isPlain ? [] : accepted(request.headers["accept-encoding"]);
  // Files below another path are made at each request: Brotli takes too long for that.
  const coding = below === "" ? codings[0] : codings.find((one) => one === "gzip");
  const variant = [coding, below === "" ? undefined : "below"].filter((part) => part !== undefined);
  const tag = `"${[site.files.get(name), ...variant].join("-")}"`;
  reply.headers({
    ...site.headers,
    "cache-control": name.startsWith("assets/")
      ? "public, max-age=31536000, immutable"
      : "public, no-cache",
    etag: tag,
    vary: [reply.getHeader("vary") ?? [], "Accept-Encoding"].flat().join(", "),
  });
  const isMissing = name === "404.html";
  if (!isMissing && matchesTag(request.headers["if-none-match"], tag))
    return reply.code(304).send();
  const bytes = await read(join(site.folder, name), { isPlain, coding, below });
  reply.code(isMissing ? 404 : 200).headers({
    "content-type": TYPES[extname(name)] ?? "application/octet-stream",
    "content-length": bytes.length,
    ...(coding === undefined ? {} : { "content-encoding": coding }),
  });
  return reply.send(request.method === "HEAD" ? "" : bytes);
}

interface Form {
  readonly isPlain: boolean;
  readonly coding: Coding | undefined;
  readonly below: string;
}

/** A file in one coding. Compression runs in the thread pool. */
async function read(path: string, { isPlain, coding, below }: Form): Promise<Buffer> {
  if (isPlain) return readFile(path);
  if (below === "" && coding !== undefined) return readFile(`${path}${SUFFIXES[coding]}`);
  const whole = await promisify(brotliDecompress)(await readFile(`${path}.br`));
  if (below === "") return whole;
  const moved = Buffer.from(whole.toString("utf8").replace(OWN_ADDRESS, `${below}/docs/`));
  return coding === "gzip" ? promisify(gzip)(moved) : moved;
}
