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

/** A compression of requests and replies: the type of Connect's `acceptCompression`. */
export type Coding = NonNullable<ConnectRouterOptions["acceptCompression"]>[number];

/** Brotli level with nearly the size of the highest one for a tenth of its time. */
const BROTLI_QUALITY = 5;

const [toGzip, toBrotli, toDeflate] = [
  promisify(gzip),
  promisify(brotliCompress),
  promisify(deflate),
];

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
    // An empty message is not compressed.
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
  const known = offered.map((coding) => coding.name).join(",");
  throw new BadRequest(
    "HEADER_INVALID",
    `the compression ${JSON.stringify(name.slice(0, 64))} is not supported: use ${known === "" ? "none" : `one of ${known}`}`,
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

/** Finds the codings that an Accept-Encoding header accepts, the preferred one first. */
export type Negotiator<Name extends string = string> = (
  header: string | undefined,
) => readonly Name[];

/** Maximum number of cached headers: browsers and proxies send few different ones. */
const REMEMBERED = 64;

/**
 * Creates a negotiator (RFC 9110, section 12.5.3) that caches its results.
 *
 * @param names of the codings, the preferred one first if a header gives them equal weights.
 */
export function createNegotiator<Name extends string>(names: readonly Name[]): Negotiator<Name> {
  const remembered = new Map<string, readonly Name[]>();
  return (header) => {
    if (header === undefined) return [];
    const known = remembered.get(header);
    if (known) return known;
    const codings = acceptedCodings(header, names);
    if (remembered.size < REMEMBERED && header.length < 256) remembered.set(header, codings);
    return codings;
  };
}

/** The codings of a header with a weight above 0, by weight. */
export function acceptedCodings<Name extends string>(
  header: string,
  names: readonly Name[],
): readonly Name[] {
  const weights = new Map(header.split(",").map(readMember));
  const weight = (name: Name): number => weights.get(name) ?? weights.get("*") ?? 0;
  return names.filter((name) => weight(name) > 0).sort((a, b) => weight(b) - weight(a));
}

function readMember(member: string): [coding: string, weight: number] {
  const [name = "", ...parameters] = member.split(";");
  const q = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
  const weight = q === undefined ? 1 : Number(q.slice(q.indexOf("=") + 1));
  return [name.trim().toLowerCase(), Number.isNaN(weight) ? 0 : weight];
}
