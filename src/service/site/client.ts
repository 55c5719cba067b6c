import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { connect, type TLSSocket } from "node:tls";
import { networkFailure, plainMessage, SiteFailure } from "./failure.ts";

/** How a site is reached. */
export interface SiteAccess {
  /** http or https, with the path that the site is served below. */
  readonly url: string;
  readonly token: string;
  /** PEM text of the authority; empty: those that Node trusts. */
  readonly ca: string;
  /** SHA-256 of the certificate, 64 hexadecimal digits; empty: the authority decides. */
  readonly pin: string;
}

/** A row of a site's list of settings. What else it has goes back as it came. */
export interface SiteRow {
  readonly key: string;
  readonly value: string;
  readonly type: string;
  readonly options: string;
  readonly help: string;
  readonly group: number;
  readonly flag: number;
  readonly [member: string]: unknown;
}

/** What a call may take. */
export interface CallLimits {
  /** Milliseconds; default 10,000. */
  readonly limit?: number;
  /** Other headers than those of Mooring itself. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Texts that no message may show. */
  readonly secrets?: readonly string[];
}

/** Speaks to a running OpenList or AList, one call at a time. Every method throws SiteFailure. */
export interface SiteClient {
  /** All settings. */
  list(options?: CallLimits): Promise<readonly SiteRow[]>;
  /** Saves whole rows, in one call. */
  save(rows: readonly SiteRow[], options?: CallLimits): Promise<void>;
  /** Any other call of its API; the envelope's data. */
  call(
    method: "GET" | "POST",
    path: string,
    body?: unknown,
    options?: CallLimits,
  ): Promise<unknown>;
  close(): void;
}

const TIME = 10_000;
/** A list of settings is 16 kB; texts of a few hundred kilobytes stand in some. */
const MAX_BYTES = 8 * 1024 * 1024;
/** One for all of Mooring's calls: a site may count the devices of a user. */
const CLIENT_ID = "mooring";

/**
 * @param connections at one time.
 * @param time how long a call may take unless it says otherwise, in milliseconds.
 * @param turn waits until an answer may be read: a list takes a moment, and there may be many.
 */
export function createSiteClient(
  access: SiteAccess,
  connections = 1,
  time = TIME,
  turn: () => Promise<void> = async () => {},
): SiteClient {
  const url = new URL(access.url);
  const base = url.pathname.replace(/\/+$/, "");
  const agent = agentOf(access, url, connections);
  const at = `${url.origin}${base}`;

  const exchange = async (
    method: "GET" | "POST",
    path: string,
    body: unknown,
    { limit = time, headers = {} }: CallLimits,
  ): Promise<Reply> => {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const send = url.protocol === "https:" ? requestHttps : requestHttp;
    return new Promise<Reply>((resolve, reject) => {
      const fail = (error: unknown): void => {
        clearTimeout(timer);
        request.destroy();
        reject(networkFailure(error, at));
      };
      const request = send({
        agent,
        method,
        host: url.hostname.replace(/^\[|\]$/g, ""),
        port: url.port || (url.protocol === "https:" ? 443 : 80),
        path: `${base}${path}`,
        headers: {
          accept: "application/json",
          "client-id": CLIENT_ID,
          "user-agent": "mooring",
          authorization: access.token,
          ...(text === undefined
            ? {}
            : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
          ...headers,
        },
      });
      const timer = setTimeout(
        () =>
          fail(
            new SiteFailure(
              "silent",
              `${at} gave no answer within ${limit / 1000} s: its storages may still be loading`,
            ),
          ),
        limit,
      );
      request.on("error", (error) =>
        fail(Object.assign(error, { reused: request.reusedSocket === true })),
      );
      request.on("response", (response) => {
        readAll(response, at).then((bytes) => {
          clearTimeout(timer);
          resolve({ response, body: bytes });
        }, fail);
      });
      request.end(text);
    });
  };

  const call: SiteClient["call"] = async (method, path, body, options = {}) => {
    const ask = () => exchange(method, path, body, options);
    const reply = await ask().catch((error: unknown) => {
      // The site has closed a kept connection at the moment of its use. A read may be asked again.
      const { cause } = error as { cause?: { reused?: boolean } };
      if (method !== "GET" || cause?.reused !== true) throw error;
      return ask();
    });
    await turn();
    return read(reply, at, [access.token, ...(options.secrets ?? [])]);
  };

  return {
    call,
    list: async (options) => {
      const rows = await call("GET", "/api/admin/setting/list", undefined, options);
      if (!Array.isArray(rows) || !rows.every(isRow))
        throw new SiteFailure("foreign", `${at} sends a list that is no list of settings`);
      // Members that no other server of this kind has.
      if (rows.some((row) => "managed" in row && "secret" in row))
        throw new SiteFailure(
          "mooring",
          `${at} is a Mooring itself: name the address of the server behind it`,
        );
      return rows;
    },
    save: async (rows, options) => {
      await call("POST", "/api/admin/setting/save", rows, options);
    },
    close: () => agent.destroy(),
  };
}

interface Reply {
  readonly response: IncomingMessage;
  readonly body: Buffer;
}

async function readAll(response: IncomingMessage, at: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > MAX_BYTES)
      throw new SiteFailure(
        "too_large",
        `${at} sends more than ${MAX_BYTES / 2 ** 20} MiB, which no list of settings has`,
      );
    parts.push(part);
  }
  if (!response.complete) throw Object.assign(new Error("aborted"), { code: "ECONNRESET" });
  return Buffer.concat(parts);
}

/** The data of an envelope. Success is HTTP 200, JSON and code 200; nothing else is. */
function read({ response, body }: Reply, at: string, secrets: readonly string[]): unknown {
  const { statusCode = 0, headers } = response;
  if (statusCode >= 300 && statusCode < 400)
    throw new SiteFailure(
      "redirect",
      `${at} points to ${plainMessage(headers.location ?? "nowhere", secrets)}: give that address, without the rest of its path`,
    );
  const type = headers["content-type"] ?? "no type";
  if (!/^application\/json/i.test(type))
    throw new SiteFailure(
      "foreign",
      /^text\/html/i.test(type)
        ? `${at} answers with a web page: is the path right? A site below a path has it in its address, such as https://host/files`
        : `${at} answers with HTTP ${statusCode} and ${type.split(";", 1)[0]}, not as an OpenList or AList does`,
    );
  let envelope: { code?: unknown; message?: unknown; data?: unknown } | null;
  try {
    envelope = JSON.parse(body.toString("utf8"));
  } catch (error) {
    throw new SiteFailure("foreign", `${at} sends JSON that can't be read`, { cause: error });
  }
  const code = typeof envelope?.code === "number" ? envelope.code : statusCode;
  const message = plainMessage(String(envelope?.message ?? ""), secrets);
  const words = { words: message };
  if (code === 401)
    throw new SiteFailure(
      "unauthorized",
      `${at} refuses the token: ${message || "code 401"}`,
      words,
    );
  if (code === 403)
    throw new SiteFailure("forbidden", `${at} says 403: ${message || "not an admin's"}`, words);
  if (statusCode === 200 && code === 200) return envelope?.data ?? null;
  if (/please wait/i.test(message))
    throw new SiteFailure("loading", `${at} is loading: ${message}`);
  throw new SiteFailure("refused", message === "" ? `code ${code}` : message);
}

function isRow(value: unknown): value is SiteRow {
  if (value === null || typeof value !== "object") return false;
  const row = value as Record<string, unknown>;
  return (
    ["key", "value", "type", "options", "help"].every((name) => typeof row[name] === "string") &&
    ["group", "flag"].every((name) => Number.isInteger(row[name]))
  );
}

function agentOf({ ca, pin }: SiteAccess, url: URL, maxSockets: number): HttpAgent | HttpsAgent {
  const options = { keepAlive: true, maxSockets, maxFreeSockets: maxSockets, timeout: 30_000 };
  if (url.protocol !== "https:") return new HttpAgent(options);
  return pin === ""
    ? new HttpsAgent({ ...options, ...(ca === "" ? {} : { ca }) })
    : new PinnedAgent(options, pin.toLowerCase());
}

/** Hands a connection out only when its certificate is the expected one: nothing is sent before. */
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
      done(
        new SiteFailure(
          "tls",
          `the certificate has the SHA-256 fingerprint ${found}, not the expected one`,
        ),
      );
    });
    // The caller waits for the callback.
    return undefined as unknown as TLSSocket;
  }
}
