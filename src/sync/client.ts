import { withoutUnpairedSurrogates } from "../json-surrogate.ts";
import { message } from "../messages/message.ts";
import { plainMessage, SiteFailure } from "./failure.ts";
import { createExchange, type Reply, type SiteAccess } from "./http-exchange.ts";

/** Options of a call. */
export interface CallOptions {
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
    options?: CallOptions,
  ): Promise<unknown>;
  /** Ends all connections. */
  close(): void;
}

/** Default time limit of a call, in milliseconds. */
const TIME_LIMIT = 10_000;
/** Constant: a site may count the devices of a user. */
const CLIENT_ID = "mooring";

/**
 * Creates a client.
 *
 * @param most maximum number of connections.
 * @param time default time limit of a call, in milliseconds.
 */
export function createSiteClient(access: SiteAccess, most = 1, time = TIME_LIMIT): SiteClient {
  const url = new URL(access.url);
  const base = url.pathname.replace(/\/+$/, "");
  const at = `${url.origin}${base}`;
  const exchange = createExchange(access, { url, at, most });

  const call: SiteClient["call"] = async (method, path, body, options = {}) => {
    const { limit = time, headers = {}, secrets = [] } = options;
    // A site of an archive without secrets: an empty token would be that of a guest.
    if (access.token === "" && headers["authorization"] === undefined)
      throw new SiteFailure("unauthorized", message("SITE_HAS_NO_TOKEN"));
    const text = body === undefined ? undefined : JSON.stringify(body);
    const reply = await exchange.send({
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

  return { at, call, close: exchange.close };
}

/** The data of an envelope. Success is HTTP 200, JSON and code 200; nothing else is. */
function read(reply: Reply, at: string, secrets: readonly string[]): unknown {
  const { code, message: said, data } = envelopeOf(reply, at, secrets);
  if (reply.status === 200 && code === 200) return data ?? null;
  const words = plainMessage(typeof said === "string" ? said : "", secrets);
  if (code === 401)
    throw new SiteFailure(
      "unauthorized",
      message("SITE_REFUSES_TOKEN", { at, words: words || message("SITE_CODE", { code }) }),
      { words },
    );
  if (code === 403)
    throw new SiteFailure(
      "forbidden",
      message("SITE_FORBIDS", { at, words: words || message("SITE_NOT_ADMIN") }),
      { words },
    );
  if (/please wait/i.test(words))
    throw new SiteFailure("loading", message("SITE_LOADING", { at, words }));
  throw new SiteFailure("refused", words || message("SITE_CODE", { code }), { words, code });
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
