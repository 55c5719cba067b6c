import { type IncomingMessage, request } from "node:http";
import { connect } from "node:http2";

/** An HTTP request to a service of a test; a string or Buffer body is sent unchanged. */
export interface HttpRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Anything but text and bytes is sent as JSON, by default with its Content-Type. */
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

/** A reply as received. */
export interface HttpReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  /** The body as JSON; undefined if it is not JSON. */
  readonly json: unknown;
}

export type SendHttp = (path: string, request?: HttpRequest) => Promise<HttpReply>;

/** Sends requests over HTTP/1.1, each on its own connection. Paths are sent unchanged. */
export function http1Sender(port: number): SendHttp {
  return (path, sent = {}) =>
    new Promise((resolve, reject) => {
      const { body, headers } = encode(sent);
      const outgoing = request({
        host: "127.0.0.1",
        port,
        path,
        method: sent.method ?? "GET",
        headers,
        agent: false,
        signal: sent.signal,
      });
      outgoing.on("error", reject);
      outgoing.on("response", (incoming) => {
        readReply(incoming).then(
          (text) => resolve(replyOf(incoming.statusCode ?? 0, { ...incoming.headers }, text)),
          reject,
        );
      });
      outgoing.end(body);
    });
}

/** Sends requests over one HTTP/2 connection without TLS. */
export function http2Sender(port: number): { send: SendHttp; close: () => void } {
  const session = connect(`http://127.0.0.1:${port}`);
  const send: SendHttp = (path, sent = {}) =>
    new Promise((resolve, reject) => {
      const { body, headers } = encode(sent);
      const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]);
      const stream = session.request(
        { ...Object.fromEntries(lower), ":method": sent.method ?? "GET", ":path": path },
        { endStream: body === undefined, ...(sent.signal && { signal: sent.signal }) },
      );
      let status = 0;
      let received: HttpReply["headers"] = {};
      let text = "";
      stream.setEncoding("utf8");
      stream.on("response", (replied) => {
        status = Number(replied[":status"]);
        received = { ...replied } as HttpReply["headers"];
      });
      stream.on("data", (chunk: string) => {
        text += chunk;
      });
      stream.on("end", () => resolve(replyOf(status, received, text)));
      stream.on("error", reject);
      if (body !== undefined) stream.end(body);
    });
  return { send, close: () => session.close() };
}

function encode({ headers = {}, body, method }: HttpRequest): {
  body: string | Buffer | undefined;
  headers: Record<string, string>;
} {
  const all: Record<string, string> = { ...headers };
  if (body === undefined) {
    // Like browsers; node:http would send a chunked body of no bytes.
    if (method === "POST") all["content-length"] = "0";
    return { body, headers: all };
  }
  const raw = typeof body === "string" || Buffer.isBuffer(body);
  const bytes = raw ? body : JSON.stringify(body);
  const names = Object.keys(all).map((name) => name.toLowerCase());
  if (!raw && !names.includes("content-type")) all["content-type"] = "application/json";
  all["content-length"] = String(Buffer.byteLength(bytes));
  return { body: bytes, headers: all };
}

async function readReply(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function replyOf(status: number, headers: HttpReply["headers"], text: string): HttpReply {
  return { status, headers, text, json: readJson(text) };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
