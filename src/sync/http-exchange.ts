import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { message } from "../messages/message.ts";
import { networkFailure, SiteFailure } from "./failure.ts";

/** Connection data of a site. */
export interface SiteAccess {
  /** http or https URL, with the site's path prefix. */
  readonly url: string;
  readonly token: string;
  /** PEM text of the authority; empty: Node's default authorities. */
  readonly ca: string;
  /** SHA-256 of the certificate, 64 hexadecimal digits; empty: the authority decides. */
  readonly pin: string;
}

/** A request to a site. */
interface SiteRequest {
  readonly method: "GET" | "POST";
  /** Path, including the site's path prefix. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON; undefined: no body. */
  readonly body: string | undefined;
  /** Time limit of the whole exchange, in milliseconds. */
  readonly limit: number;
}

/** Reply of a site. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** HTTP exchanges with one site, over keep-alive connections. */
export interface Exchange {
  /** Sends a request. A GET is repeated if a kept connection was closed. @throws SiteFailure. */
  send(request: SiteRequest): Promise<Reply>;
  /** Ends all connections. */
  close(): void;
}

/** Maximum size of a reply: a list of records has 16 kB, some have a few hundred kB. */
const MAX_BYTES = 8 * 1024 * 1024;

/**
 * Creates the exchanges with a site.
 *
 * @param options.url the parsed URL of the site. @param options.at its address for messages.
 * @param options.most maximum number of connections.
 */
export function createExchange(
  access: SiteAccess,
  { url, at, most }: { readonly url: URL; readonly at: string; readonly most: number },
): Exchange {
  const agent = agentOf(access, url, most);
  const send = url.protocol === "https:" ? requestHttps : requestHttp;
  const target = {
    agent,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port || (url.protocol === "https:" ? 443 : 80),
  };
  const exchange = ({ method, path, headers, body, limit }: SiteRequest): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const call = send({ ...target, method, path, headers });
    const fail = (error: unknown): void => {
      clearTimeout(timer);
      call.destroy();
      reject(networkFailure(error, at));
    };
    const timer = setTimeout(() => {
      fail(new SiteFailure("silent", message("SITE_SILENT", { at, seconds: limit / 1_000 })));
    }, limit);
    call.on("error", (error) => fail(Object.assign(error, { reused: call.reusedSocket === true })));
    call.on("response", (response) => {
      response.on("error", fail);
      collect(response, at, fail, (bytes) => {
        clearTimeout(timer);
        const { statusCode: status = 0 } = response;
        resolve({ status, headers: response.headers, body: bytes });
      });
    });
    call.end(body);
    return promise;
  };
  return {
    send: (request) =>
      exchange(request).catch((error: unknown) => {
        // The site closed a kept connection at the moment of its use: a read is repeated.
        const { cause } = error as { cause?: { reused?: boolean } };
        if (request.method !== "GET" || cause?.reused !== true) throw error;
        return exchange(request);
      }),
    close: () => agent.destroy(),
  };
}

/** Reads a reply by events: an iterator costs more than the rest of a small reply. */
function collect(
  response: IncomingMessage,
  at: string,
  fail: (error: unknown) => void,
  done: (body: Buffer) => void,
): void {
  const parts: Buffer[] = [];
  let size = 0;
  response.on("data", (part: Buffer) => {
    size += part.length;
    if (size <= MAX_BYTES) return void parts.push(part);
    const most = `${MAX_BYTES / 2 ** 20} MiB`;
    fail(new SiteFailure("too_large", message("SITE_ANSWER_TOO_LARGE", { at, most })));
  });
  response.on("end", () => {
    if (!response.complete)
      return fail(Object.assign(new Error("cut off"), { code: "ECONNRESET" }));
    const [only] = parts;
    done(only !== undefined && parts.length === 1 ? only : Buffer.concat(parts));
  });
}

function agentOf({ ca, pin }: SiteAccess, url: URL, maxSockets: number): HttpAgent | HttpsAgent {
  const options = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: 30_000 };
  if (url.protocol !== "https:") return new HttpAgent(options);
  return pin === ""
    ? new HttpsAgent({ ...options, ...(ca === "" ? {} : { ca }) })
    : new PinnedAgent(options, pin.toLowerCase());
}

/** Agent that verifies the certificate's fingerprint before anything is sent. */
class PinnedAgent extends HttpsAgent {
  readonly #pin: string;

  constructor(options: ConstructorParameters<typeof HttpsAgent>[0], pin: string) {
    super(options);
    this.#pin = pin;
  }

  override createConnection(
    options: object,
    callback?: (error: Error | null, stream: TLSSocket) => void,
  ): TLSSocket {
    const { host, port, servername } = options as {
      host: string;
      port: number;
      servername?: string;
    };
    const socket = connect({
      host,
      port,
      ...(servername ? { servername } : {}),
      rejectUnauthorized: false,
    });
    const done = (error: Error | null): void => {
      socket.off("error", done);
      if (error !== null) socket.destroy();
      callback?.(error, socket);
    };
    socket.once("error", done);
    socket.once("secureConnect", () => {
      const found = socket.getPeerCertificate().fingerprint256.replaceAll(":", "").toLowerCase();
      if (found === this.#pin) return done(null);
      done(new SiteFailure("tls", message("FINGERPRINT_MISMATCH", { found })));
    });
    // The caller waits for the callback.
    return undefined as unknown as TLSSocket;
  }
}
