import { createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";

/**
 * Files of a site in memory; below /big the last part of a path is a size in bytes, generated while
 * sending; below /slow too, a block a second.
 */
export type Files = Map<string, Buffer>;

const BLOCK = Buffer.alloc(64 * 1024, "0123456789abcdef");

/** Sends a file like /d and /p: ranges, HEAD, ETag. */
export function sendFile(
  files: Files,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const big = /^\/(?:big|slow)\/(\d+)$/.exec(path)?.[1];
  const file = files.get(path);
  if (big === undefined && file === undefined) {
    response.writeHead(404, { "content-type": "text/plain" }).end("object not found");
    return;
  }
  const size = file?.length ?? Number(big);
  const etag = `"${createHash("sha1").update(`${path}${size}`).digest("hex")}"`;
  const common = { etag, "accept-ranges": "bytes", "content-type": "application/octet-stream" };
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304, common).end();
    return;
  }
  const [, first = "", last = ""] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  const from = first === "" ? 0 : Number(first);
  const to = last === "" ? size - 1 : Math.min(Number(last), size - 1);
  const length = to - from + 1;
  response.writeHead(first === "" ? 200 : 206, {
    ...common,
    "content-length": String(length),
    ...(first === "" ? {} : { "content-range": `bytes ${from}-${to}/${size}` }),
  });
  if (request.method === "HEAD") response.end();
  else if (file !== undefined) response.end(file.subarray(from, to + 1));
  else if (path.startsWith("/slow/")) drip(blocks(length), response);
  else blocks(length).pipe(response);
}

function drip(source: Readable, response: ServerResponse): void {
  const next = (): void => {
    const block: Buffer | null = source.read();
    if (block === null) response.end();
    else response.write(block);
  };
  source.once("readable", next);
  const timer = setInterval(next, 1_000).unref();
  response.once("close", () => clearInterval(timer));
}

function blocks(length: number): Readable {
  let left = length;
  return new Readable({
    read() {
      if (left <= 0) return void this.push(null);
      const size = Math.min(left, BLOCK.length);
      left -= size;
      this.push(size === BLOCK.length ? BLOCK : BLOCK.subarray(0, size));
    },
  });
}

/** Reads a body to its end; of a large one only the length is kept. */
export async function receive(request: IncomingMessage): Promise<{ size: number; body: Buffer }> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length;
    if (size <= 4 * 2 ** 20) parts.push(part);
  }
  return { size, body: Buffer.concat(parts) };
}

/** WebDAV below /dav, for clients with the admin's password. */
export async function serveDav(
  files: Files,
  path: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = "", headers } = request;
  if (method === "MOVE" || method === "COPY") {
    const destination = URL.parse(String(headers["destination"] ?? ""));
    // Its host must be that of the request.
    if (destination?.host !== headers.host) return void response.writeHead(502).end("Bad Gateway");
    const file = files.get(path);
    if (file === undefined) return void response.writeHead(404).end();
    files.set(decodeURIComponent(destination?.pathname.replace(/^.*\/dav/, "") ?? ""), file);
    if (method === "MOVE") files.delete(path);
    return void response.writeHead(201).end();
  }
  switch (method) {
    case "OPTIONS":
      return void response
        .writeHead(200, { dav: "1, 2", allow: "OPTIONS, PROPFIND, PUT, MKCOL, MOVE, COPY, LOCK" })
        .end();
    case "PROPFIND": {
      const { body } = await receive(request);
      const list = [...files.keys()].map((each) => `<D:href>/dav${encodeURI(each)}</D:href>`);
      return void response
        .writeHead(207, { "content-type": "text/xml; charset=utf-8" })
        .end(
          `<D:multistatus xmlns:D="DAV:" asked="${body.length}">${list.join("")}</D:multistatus>`,
        );
    }
    case "PUT": {
      const { body } = await receive(request);
      files.set(path, body);
      return void response.writeHead(201).end();
    }
    case "MKCOL":
      return void response.writeHead(201).end();
    case "DELETE":
      return void response.writeHead(files.delete(path) ? 204 : 404).end();
    case "LOCK": {
      await receive(request);
      return void response
        .writeHead(200, { "lock-token": "<opaquelocktoken:1>", "content-type": "text/xml" })
        .end("<D:prop/>");
    }
    case "UNLOCK":
      return void response.writeHead(204).end();
    default:
      return sendFile(files, path, request, response);
  }
}
