import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { withoutUnpairedSurrogates } from "../json-surrogate.ts";
import { message } from "../messages/message.ts";
import { networkFailure, plainMessage, SiteFailure } from "./failure.ts";

/** Limits of a call. */
export interface CallLimits {
  /** Time limit in milliseconds. Default: 10,000. */
  readonly limit?: number;
  /** Headers in place of those of Mooring. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Secrets that are removed from messages. */
  readonly secrets?: readonly string[];
}

/** Client of a running OpenList or AList. */
export interface SiteClient {
  /** Address of the server, for messages. */
  readonly at: string;
  /** @returns the data of the reply's envelope. */
  call(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    options?: CallLimits,
  ): Promise<unknown>;
  /** Ends all connections. */
  close(): void;
}

const TIME = 10_000;
/** Constant: a site may count the devices of a user. */
const CLIENT_ID = "mooring";

/**
 * @param most maximum number of connections.
 * @param time default time limit of a call, in milliseconds.
 */
export function createSiteClient(access: SiteAccess, most = 1, time = TIME): SiteClient {
  const url = new URL(access.url);
  const base = url.pathname.replace(/\/+$/, "");
  const connections = createConnections(access, url, most);
  const at = `${url.origin}${base}`;

  const call: SiteClient["call"] = async (method, path, body, options = {}) => {
    const { limit = time, headers = {}, secrets = [] } = options;
    // A site of an archive without secrets: an empty token would be that of a guest.
    if (access.token === "" && headers["authorization"] === undefined)
      throw new SiteFailure("unauthorized", message("SITE_HAS_NO_TOKEN"));
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await connections.send({
      method,
      path: `${base}${path}`,
      body: text,
      limit,
      headers: {
        accept: "application/json",
        "client-id": CLIENT_ID,
        "user-agent": "mooring",
        authorization: access.token,
        ...(text !== undefined && {
          "content-type": "application/json",
          "content-length": String(Buffer.byteLength(text)),
        }),
        ...headers,
      },
    });
    return read(reply, at, [access.token, ...secrets]);
  };

  return { at, call, close: connections.close };
}

/** The data of an envelope. Success is HTTP 200, JSON and code 200; nothing else is. */
function read(reply: Reply, at: string, secrets: readonly string[]): unknown {
  const { code, message: said, data } = envelopeOf(reply, at, secrets);
  if (reply.status === 200 && code === 200) return data ?? null;
  const words = plainMessage(typeof said === "string" ? said : "", secrets);
  if (code === 401)
    throw new SiteFailure(
      "unauthorized",
      message("SITE_REFUSES_TOKEN", { at, words: words || "code 401" }),
      {
        words,
      },
    );
  if (code === 403)
    throw new SiteFailure(
      "forbidden",
      message("SITE_FORBIDS", { at, words: words || "not an admin's" }),
      { words },
    );
  if (/please wait/i.test(words))
    throw new SiteFailure("loading", message("SITE_LOADING", { at, words }));
  throw new SiteFailure("refused", words === "" ? `code ${code}` : words, { words, code });
}

interface Envelope {
  readonly code: number;
  readonly message?: unknown;
  readonly data?: unknown;
}

/** @throws SiteFailure for a reply that is not from such a server. */
function envelopeOf(
  { status, headers, body }: Reply,
  at: string,
  secrets: readonly string[],
): Envelope {
  if (status >= 300 && status < 400)
    throw new SiteFailure(
      "redirect",
      message("SITE_REDIRECTS", {
        at,
        location: plainMessage(headers.location ?? "nowhere", secrets),
      }),
    );
  if (status === 400 && NEEDS_TLS.test(body.toString("latin1", 0, 2_000)))
    throw new SiteFailure("tls", message("SITE_SPEAKS_TLS", { at }));
  const type = headers["content-type"] ?? "no type";
  if (!/^application\/json/i.test(type))
    throw new SiteFailure(
      "foreign",
      /^text\/html/i.test(type)
        ? message("SITE_ANSWERS_PAGE", { at })
        : message("SITE_ANSWERS_OTHERWISE", { at, status, type: type.split(";", 1)[0] ?? "" }),
    );
  try {
    const envelope = JSON.parse(
      withoutUnpairedSurrogates(body.toString("utf8")),
    ) as Partial<Envelope> | null;
    return { ...envelope, code: typeof envelope?.code === "number" ? envelope.code : status };
  } catch (error) {
    throw new SiteFailure("foreign", message("SITE_JSON_INVALID", { at }), { cause: error });
  }
}

/** Replies of Go's servers, Caddy and nginx to plain HTTP on a port for TLS. */
const NEEDS_TLS = /HTTP request (?:to an HTTPS server|was sent to HTTPS port)/;

/** Connection data of a site. */
interface SiteAccess {
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
interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** Keep-alive connections to one site. */
interface Connections {
  /** Sends a request. A GET is repeated if a kept connection was closed. @throws SiteFailure. */
  send(request: SiteRequest): Promise<Reply>;
  close(): void;
}

/** Maximum size of a reply: a list of records has 16 kB, some have a few hundred kB. */
const MAX_BYTES = 8 * 1024 * 1024;

/** @param most maximum number of connections. */
function createConnections(access: SiteAccess, url: URL, most: number): Connections {
  const at = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
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
      const within = `within ${limit / 1000} s`;
      const message = `${at} gave no answer ${within}: its storages may still be loading`;
      fail(new SiteFailure("silent", message));
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
