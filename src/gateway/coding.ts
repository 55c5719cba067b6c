import { promisify } from "node:util";
import {
  brotliCompress,
  brotliDecompress,
  deflate,
  gunzip,
  gzip,
  inflate,
  constants as zlib,
} from "node:zlib";
import { Code, ConnectError, type ConnectRouterOptions } from "@connectrpc/connect";
import { BadRequest, bodyTooLarge } from "../transport/body.ts";

/** Compression of requests and replies: the type of Connect's `acceptCompression`. */
export type Coding = NonNullable<ConnectRouterOptions["acceptCompression"]>[number];

/** Brotli level with nearly the size of the highest one for a tenth of its time. */
const BROTLI_QUALITY = 5;

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);
const toDeflate = promisify(deflate);

export const GZIP: Coding = {
  name: "gzip",
  compress: (bytes) => toGzip(bytes),
  decompress: decompressor("gzip", gunzip),
};

export const BROTLI: Coding = {
  name: "br",
  compress: (bytes) => {
    const params = {
      [zlib.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
      [zlib.BROTLI_PARAM_MODE]: zlib.BROTLI_MODE_TEXT,
      [zlib.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    };
    return toBrotli(bytes, { params });
  },
  decompress: decompressor("br", brotliDecompress),
};

export const DEFLATE: Coding = {
  name: "deflate",
  compress: (bytes) => toDeflate(bytes),
  decompress: decompressor("deflate", inflate),
};

function decompressor(name: string, undo: typeof gunzip): Coding["decompress"] {
  const run = promisify<Uint8Array, object, Buffer<ArrayBuffer>>(undo);
  return async (bytes, limit) => {
    // Zero-length content is not decompressed (Connect protocol, "Unary-Request").
    if (bytes.length === 0) return new Uint8Array();
    try {
      return await run(bytes, { maxOutputLength: limit });
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === "ERR_BUFFER_TOO_LARGE") throw bodyTooLarge(limit);
      throw notValid(name);
    }
  };
}

function notValid(name: string): BadRequest {
  return new BadRequest("BODY_INVALID", `the request is not valid ${name} data`);
}

/** Decompressor of requests; the limit is the greatest size of the result, in bytes. */
export type Decompress = (body: Uint8Array, limit: number) => Promise<Uint8Array>;

/**
 * Decompressor for the compression of a request; undefined for none.
 *
 * @param offered codings that are accepted here.
 * @param accepts header that lists them for the client.
 * @throws UNIMPLEMENTED for any other (gRPC, "Compression"; Connect, "Unary-Request").
 */
export function decompressionFor(
  name: string | undefined,
  offered: readonly Coding[],
  accepts: string,
): Decompress | undefined {
  if (name === undefined || name === "" || name === "identity") return undefined;
  const found = offered.find((coding) => coding.name === name);
  if (found !== undefined) return decompressWith(found);
  const given = JSON.stringify(name.slice(0, 64));
  const known = offered.map((coding) => coding.name).join(",");
  const remedy = known === "" ? "use none" : `use one of ${known}`;
  throw new BadRequest(
    "HEADER_INVALID",
    `the compression ${given} is not supported: ${remedy}`,
    Code.Unimplemented,
    { [accepts]: known === "" ? "identity" : known },
  );
}

function decompressWith(coding: Coding): Decompress {
  return async (body, limit) => {
    try {
      return await coding.decompress(body, limit);
    } catch (error) {
      // The error of a coding of the application may have details of its own.
      if (error instanceof ConnectError) throw error;
      throw notValid(coding.name);
    }
  };
}
