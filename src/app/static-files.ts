import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import type { Writable } from "node:stream";
import { promisify } from "node:util";
import { brotliDecompress } from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { createNegotiator } from "../gateway/accept-encoding.ts";
import { HttpFault } from "../gateway/failure.ts";
import type { SlowReaders } from "../transport/slow-reader.ts";

/** A file of a built folder, as it is sent. */
export interface StaticFile {
  /** Its extension decides the media type. */
  readonly name: string;
  /** Default: 200. Other statuses have no conditional requests. */
  readonly status?: number;
  /** Security headers ({@link securityHeaders}). */
  readonly security: Readonly<Record<string, string>>;
  readonly cacheControl: string;
  /** Entity tag of the uncompressed file, without quotes. */
  readonly tag: string;
  /** Codings in which it can be read. */
  readonly codings: readonly Coding[];
  /** The bytes in one coding, or uncompressed. */
  readonly read: (coding: Coding | undefined) => Promise<Buffer>;
}

/** An address relative to the requested path. */
export interface Redirect {
  readonly status: 302 | 308;
  readonly location: string;
}

export interface StaticFolder {
  /** Path of the folder below the plugin's prefix, such as `/console`. */
  readonly path: string;
  /** Name in messages, such as `the console`. */
  readonly label: string;
  /**
   * Finds the file of a path below the folder: `""` for the folder without its slash, else it begins
   * with a slash. Names come from a list that the build has made; paths never reach the file system.
   *
   * @throws HttpFault for paths without a file.
   */
  readonly find: (path: string) => StaticFile | Redirect;
  /** Counts files that wait for their readers. Default: they are not counted. */
  readonly slowReaders?: Pick<SlowReaders, "hold"> | undefined;
}

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
/** Content coding of stored files. */
export type Coding = "br" | "gzip";

const SUFFIXES: Readonly<Record<Coding, string>> = { br: ".br", gzip: ".gz" };

/** Serves the files of a built folder to GET and HEAD, in the coding that the client prefers. */
export function serveStatic(
  fastify: FastifyInstance,
  { path, label, find, slowReaders }: StaticFolder,
): void {
  const accepted = createNegotiator<Coding>(["br", "gzip"]);
  const shared = shareReads();
  const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
    if (request.method !== "GET" && request.method !== "HEAD") {
      reply.header("allow", "GET, HEAD");
      throw new HttpFault(405, `${label} is read-only: use GET or HEAD`);
    }
    // The requested path: Fastify's routing ignores a slash at the end, relative addresses do not.
    const [requested = ""] = request.url.split("?", 1);
    const found = find(requested.slice(requested.indexOf(path) + path.length));
    if ("location" in found) return reply.redirect(found.location, found.status);
    const codings = accepted(request.headers["accept-encoding"]);
    const coding = codings.find((one) => found.codings.includes(one));
    return send(request, reply, { file: found, coding, shared, slowReaders });
  };
  for (const url of [path, `${path}/*`])
    fastify.route({ method: METHODS, url, exposeHeadRoute: false, handler });
}

/** Reads bytes unless a reply with the same entity tag still has them in memory. */
type ReadOnce = (tag: string, read: () => Promise<Buffer>) => Promise<Buffer>;

/** Replies that wait for their readers share one copy of a file: any client may ask for thousands. */
function shareReads(): ReadOnce {
  const reading = new Map<string, Promise<Buffer>>();
  const sent = new Map<string, WeakRef<Buffer>>();
  return async (tag, read) => {
    const known = sent.get(tag)?.deref() ?? reading.get(tag);
    if (known !== undefined) return known;
    const begun = read().finally(() => reading.delete(tag));
    reading.set(tag, begun);
    const bytes = await begun;
    sent.set(tag, new WeakRef(bytes));
    return bytes;
  };
}

interface Sending extends Pick<StaticFolder, "slowReaders"> {
  readonly file: StaticFile;
  readonly coding: Coding | undefined;
  readonly shared: ReadOnce;
}

async function send(
  { method, headers }: FastifyRequest,
  reply: FastifyReply,
  { file, coding, shared, slowReaders }: Sending,
): Promise<unknown> {
  const tag = coding === undefined ? `"${file.tag}"` : `"${file.tag}-${coding}"`;
  const status = file.status ?? 200;
  reply.headers({
    ...file.security,
    "cache-control": file.cacheControl,
    etag: tag,
    vary: [reply.getHeader("vary") ?? [], "Accept-Encoding"].flat().join(", "),
  });
  if (status === 200 && matchesTag(headers["if-none-match"], tag)) return reply.code(304).send();
  const bytes = await shared(tag, () => file.read(coding));
  reply.code(status).headers({
    "content-type": TYPES[extname(file.name)] ?? "application/octet-stream",
    "content-length": bytes.length,
    ...(coding === undefined ? {} : { "content-encoding": coding }),
  });
  if (method === "HEAD") return reply.send("");
  // Over HTTP/2 the stream of the response.
  const { stream } = reply.raw as { readonly stream?: Writable };
  slowReaders?.hold(stream ?? reply.raw, bytes);
  return reply.send(bytes);
}

/** Reads a file that the build has left as FILE.br and FILE.gz. Decompression runs in the thread pool. */
export async function readCompressed(path: string, coding: Coding | undefined): Promise<Buffer> {
  if (coding !== undefined) return readFile(`${path}${SUFFIXES[coding]}`);
  return promisify(brotliDecompress)(await readFile(`${path}.br`));
}

/**
 * Headers of files that browsers run or show, with Content Security Policy Level 3 and Trusted
 * Types: scripts come only from the folder's files.
 *
 * @param page.trustedTypes names of policies.
 * @param page.frameAncestors sources that may show it in frames. Empty: none.
 */
export function securityHeaders({
  trustedTypes = "'none'",
  frameAncestors = [],
}: {
  readonly trustedTypes?: string;
  readonly frameAncestors?: readonly string[];
} = {}): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.join(" ") || "'none'"}`,
    "require-trusted-types-for 'script'",
    `trusted-types ${trustedTypes}`,
  ];
  return {
    "content-security-policy": policy.join("; "),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    // The header has no list of origins: with one, only the policy applies.
    ...(frameAncestors.length === 0 && { "x-frame-options": "DENY" }),
  };
}

/** Whether an If-None-Match header names an entity tag: a weak comparison (RFC 9110, 13.1.2). */
function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", tag, `W/${tag}`].includes(one.trim()));
}
