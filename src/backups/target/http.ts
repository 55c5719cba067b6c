import { isCertificateError } from "../../certificate-error.ts";
import { FILE_LIMITS, TargetFailure } from "./target.ts";

/** Time limit of a request with its body, in milliseconds. */
const LIMIT = 120_000;
/** Maximum size of a list, in bytes. */
export const MAX_LIST = 8 * 1024 * 1024;
/** Maximum number of files of a target that are listed. */
export const MAX_FILES = 20_000;

/** Reply with its whole body. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Buffer;
}

/**
 * Sends a request of a target. Redirects are not followed: they could lead the credentials to another
 * host. No message has a header, or more of the address than its host.
 *
 * @param most maximum size of the reply's body, in bytes. Default: that of a backup.
 * @throws TargetFailure; the reason of the signal.
 */
export async function send(
  request: Request,
  signal: AbortSignal,
  most: number = FILE_LIMITS.bytes,
): Promise<HttpReply> {
  const { host } = new URL(request.url);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), LIMIT);
  const until = AbortSignal.any([signal, limit.signal]);
  try {
    const reply = await fetch(request, { redirect: "manual", signal: until });
    if (reply.status >= 300 && reply.status < 400) {
      await reply.body?.cancel();
      throw new TargetFailure(`${host} redirects to another address (${reply.status})`);
    }
    return {
      status: reply.status,
      headers: reply.headers,
      body: await readBody(reply, most),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof TargetFailure) throw error;
    if (limit.signal.aborted) throw new TargetFailure(`${host} did not answer in time`);
    throw new TargetFailure(`${host} cannot be reached: ${causeOf(error)}`);
  } finally {
    clearTimeout(timer);
  }
}

async function readBody(reply: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of reply.body ?? []) {
    size += chunk.length;
    if (size > most) throw new TargetFailure(`a reply has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Innermost cause: `fetch` reports only that it failed. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.cause !== undefined) return causeOf(error.cause);
  const { code } = error as NodeJS.ErrnoException;
  if (code !== undefined && isCertificateError(code))
    return `its certificate is not trusted (${code}); start the service with NODE_EXTRA_CA_CERTS=/path/ca.pem for your own certificate authority`;
  return code ?? error.message;
}

/**
 * Texts of all elements of an XML document with a name, whatever its namespace prefix. The lists of S3
 * and WebDAV have them as plain texts.
 */
export function textsOf(xml: string, name: string): readonly string[] {
  const pattern = new RegExp(
    `<(?:[\\w-]+:)?${name}(?:\\s[^<>]*)?>([^<]*)</(?:[\\w-]+:)?${name}>`,
    "g",
  );
  return Array.from(xml.matchAll(pattern), ([, text = ""]) => unescapeXml(text));
}

/** Contents of all elements with a name, which contain others. */
export function elementsOf(xml: string, name: string): readonly string[] {
  const start = new RegExp(`<(?:[\\w-]+:)?${name}(?:\\s[^<>]*)?>`);
  const end = new RegExp(`</(?:[\\w-]+:)?${name}>`);
  return xml
    .split(start)
    .slice(1)
    .map((rest) => rest.split(end)[0] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
};

function unescapeXml(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi, (whole, decimal, hex, name) => {
    if (name !== undefined) return ENTITIES[name] ?? whole;
    const code = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
}
