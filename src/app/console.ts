import { hash } from "node:crypto";
import { existsSync, globSync, readFileSync } from "node:fs";
import { extname, join, sep } from "node:path";
import { brotliDecompressSync } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Coding } from "../gateway/encoded.ts";
import { HttpFault } from "../gateway/failure.ts";
import { createNegotiator } from "../gateway/negotiation.ts";
import { matchesTag, securityHeaders } from "./static-reply.ts";

export interface ConsoleOptions {
  /** Folder that the build has made. Default: that of the package, or of `npm run build`. */
  readonly folder?: string;
  /** Path of the services, relative to the console. Default: its parent. */
  readonly services?: string;
  /** Path of the API reference, relative to the console. Default: no link. */
  readonly reference?: string;
  /** Path of logins at the upstream, relative to the console. Default: tokens only. */
  readonly login?: string;
}

/** In the package it lies beside the program; the source has it where the last build put it. */
const FOLDERS = ["../console", "../../dist/src/console"].map((path) =>
  join(import.meta.dirname, path),
);

/** Page for an address that names none. */
const FIRST_PAGE = "/overview";

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** Content Security Policy Level 3, with Trusted Types: nothing is a script that is not a file here. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
];

const SECURITY = securityHeaders(POLICY);

/**
 * A Fastify plugin that serves the console at `/console/`, below the prefix it is registered with.
 * Every address of a page gets that page's document; the files beside it never change under their
 * names. They are read at the first request and then stay in memory.
 */
export async function consolePlugin(
  fastify: FastifyInstance,
  { folder, services = "../", reference = "", login = "" }: ConsoleOptions = {},
): Promise<void> {
  let files: Files | undefined;
  const read = (): Files => {
    const own = `data-services="${services}" data-reference="${reference}"`;
    const places = login === "" ? own : `${own} data-login="${login}"`;
    files ??= readConsole([folder ?? FOLDERS].flat().find(isBuilt), places);
    return files;
  };
  const accepted = createNegotiator();
  const serve = (request: FastifyRequest, reply: FastifyReply): void => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      reply.header("allow", "GET, HEAD");
      throw new HttpFault(405, "the console is only read");
    }
    // The requested path: relative addresses in the document depend on its trailing slash.
    const [path = ""] = request.url.split("?", 1);
    const name = path.slice(path.lastIndexOf("/console") + "/console".length);
    if (name === "") return void reply.redirect("console/", 308);
    const isPage = extname(name) === "";
    const file = isPage ? documentOf(read(), name) : read().get(name);
    if (file === undefined || (isPage && name.lastIndexOf("/") > 0))
      throw new HttpFault(404, `the console has no ${name.slice(0, 200)}`);
    const coding = accepted(request.headers["accept-encoding"])[0];
    send(request, reply, file, coding);
  };
  const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
  for (const url of ["/console", "/console/*"])
    fastify.route({ method: methods, url, exposeHeadRoute: false, handler: serve });
}

interface File {
  readonly type: string;
  readonly cacheControl: string;
  /** The file as sent, by coding; compressed at its first use if the build has not done so. */
  form(coding: Coding | undefined): { readonly bytes: Buffer; readonly tag: string };
}

type Files = ReadonlyMap<string, File>;

/** The document of a page: it names what the page needs. Others get the one that names nothing. */
function documentOf(files: Files, path: string): File | undefined {
  const own = path === "/" ? FIRST_PAGE : path;
  return files.get(`${own}.html`) ?? files.get("/index.html");
}

function isBuilt(folder: string): boolean {
  return existsSync(join(folder, "index.html.br"));
}

/** @throws HttpFault when it has not been built: the program runs from its source. */
function readConsole(folder: string | undefined, places: string): Files {
  if (folder === undefined)
    throw new HttpFault(503, 'the console is not built: run "npm run build", then reload');
  const names = globSync("**/*.br", { cwd: folder }).map((name) => name.slice(0, -".br".length));
  return new Map(
    names.map((name) => {
      const path = name.split(sep).join("/");
      const file = extname(name) === ".html" ? document(folder, name, places) : asset(folder, name);
      return [`/${path}`, file];
    }),
  );
}

function asset(folder: string, name: string): File {
  const path = join(folder, name);
  const br = readFileSync(`${path}.br`);
  return {
    type: TYPES[extname(name)] ?? "application/octet-stream",
    cacheControl: "public, max-age=31536000, immutable",
    form: remembered((coding) => {
      if (coding === "br") return br;
      // Browsers take Brotli; the other forms are made for those who don't.
      return coding === "gzip" ? readFileSync(`${path}.gz`) : brotliDecompressSync(br);
    }),
  };
}

/** A document. It is small, and is sent as it is. @param places attributes that say what is where. */
function document(folder: string, name: string, places: string): File {
  const text = readFileSync(join(folder, name), "utf8");
  const bytes = Buffer.from(text.replace("<html ", `<html ${places} `));
  return { type: TYPES[".html"] ?? "", cacheControl: "no-cache", form: remembered(() => bytes) };
}

function remembered(make: (coding: Coding | undefined) => Buffer): File["form"] {
  const made = new Map<Coding | undefined, ReturnType<File["form"]>>();
  return (coding) => {
    const bytes = made.get(coding)?.bytes ?? make(coding);
    const tag = `"${hash("sha256", bytes, "base64url").slice(0, 22)}"`;
    const form = made.get(coding) ?? { bytes, tag };
    made.set(coding, form);
    return form;
  };
}

function send(
  request: FastifyRequest,
  reply: FastifyReply,
  file: File,
  wanted: Coding | undefined,
): void {
  const coding = file.cacheControl === "no-cache" ? undefined : wanted;
  const { bytes, tag } = file.form(coding);
  reply.headers({
    ...SECURITY,
    "cache-control": file.cacheControl,
    etag: tag,
    vary: [reply.getHeader("vary") ?? [], "Accept-Encoding"].flat().join(", "),
  });
  if (matchesTag(request.headers["if-none-match"], tag)) return void reply.code(304).send();
  reply.headers({ "content-type": file.type, "content-length": bytes.length });
  if (coding !== undefined) reply.header("content-encoding", coding);
  reply.send(request.method === "HEAD" ? "" : bytes);
}
