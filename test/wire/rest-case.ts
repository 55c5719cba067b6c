import { expect } from "vitest";
import { TOKEN } from "./service.ts";
import type { HttpReply, HttpRequest, SendHttp } from "./transport/http.ts";

/** One REST request and its envelope. */
export interface RestCase {
  readonly name: string;
  readonly path: string;
  readonly request: HttpRequest;
  readonly code: number;
  /** The message, or a part of it. */
  readonly message: string | RegExp;
  /** The value of `data`; a matcher if only a part of it matters. */
  readonly data: unknown;
  /** The HTTP status is the code, for any MOORING_HTTP_STATUS. */
  readonly real: boolean;
  /** Headers of the reply. */
  readonly headers: Readonly<Record<string, string | RegExp>>;
}

/** Both values of MOORING_HTTP_STATUS. */
export const STATUS_MODES = ["envelope", "code"] as const;

const admin = { authorization: TOKEN };

/** Options of a request; by default it has the admin's token. */
export type Sent = HttpRequest;

function complete(sent: Sent): HttpRequest {
  return { ...sent, headers: { ...admin, ...sent.headers } };
}

/** A request that succeeds with this `data`. */
export function succeeds(name: string, path: string, sent: Sent, data: unknown): RestCase {
  return {
    name,
    path,
    request: complete(sent),
    code: 200,
    message: "success",
    data,
    real: false,
    headers: { "content-type": "application/json; charset=utf-8" },
  };
}

/** A request on a documented path that fails: by default with 200 and the code in the envelope. */
export function refuses(
  name: string,
  path: string,
  sent: Sent,
  code: number,
  message: RegExp,
): RestCase {
  return {
    name,
    path,
    request: complete(sent),
    code,
    message,
    data: expect.toSatisfy(isErrorData),
    real: false,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store" },
  };
}

/** A request that reaches no rpc: its HTTP status is real. */
export function rejects(
  name: string,
  path: string,
  sent: Sent,
  code: number,
  message: RegExp,
  headers: Readonly<Record<string, string | RegExp>> = {},
): RestCase {
  const refused = refuses(name, path, sent, code, message);
  return { ...refused, real: true, headers: { ...refused.headers, ...headers } };
}

/** Name, query or body, and the data; or the code and the message of a failure. */
export type RestRow = readonly [string, unknown, unknown, RegExp?];

/** Reads at a path, by their queries. */
export function reads(path: string, rows: readonly RestRow[]): RestCase[] {
  return rows.map(([name, query, expected, message]) =>
    message === undefined
      ? succeeds(name, `${path}${query}`, {}, expected)
      : refuses(name, `${path}${query}`, {}, Number(expected), message),
  );
}

/** POST requests to a path, by their bodies; text and bytes are sent as JSON. */
export function posts(path: string, rows: readonly RestRow[]): RestCase[] {
  return rows.map(([name, body, expected, message]) => {
    const raw = typeof body === "string" || Buffer.isBuffer(body);
    const headers = raw ? { "content-type": "application/json" } : {};
    const sent = { method: "POST", body, headers };
    return message === undefined
      ? succeeds(name, path, sent, expected)
      : refuses(name, path, sent, Number(expected), message);
  });
}

/** Sends a case's request and checks everything in the envelope. */
export async function runRestCase(
  one: RestCase,
  send: SendHttp,
  mode: (typeof STATUS_MODES)[number],
): Promise<void> {
  const reply = await send(one.path, one.request);
  const { message } = one;
  expect(reply.json, reply.text).toEqual({
    code: one.code,
    message: typeof message === "string" ? message : expect.stringMatching(message),
    data: one.data,
  });
  expect(Object.keys(reply.json as object)).toEqual(["code", "message", "data"]);
  expect(reply.status).toBe(one.real || mode === "code" ? one.code : 200);
  checkReply(reply);
  for (const [name, value] of Object.entries(one.headers)) {
    const found = reply.headers[name];
    if (typeof value === "string") expect(found, name).toBe(value);
    else expect(found, name).toMatch(value);
  }
}

/** Checks of every reply: a request id, and no internals of the program. */
export function checkReply({ headers, text }: HttpReply): void {
  expect(headers["x-request-id"]).toMatch(/^[\w.:/+=-]+$/);
  expect(text).not.toMatch(
    /\bat \S+ \([^)]*:\d+:\d+\)|node_modules|\.ts:\d|statusCode|FST_ERR|\bError:/,
  );
}

function isErrorData(data: unknown): boolean {
  if (data === null) return true;
  const { violations } = data as { violations?: { field: unknown; description: unknown }[] };
  return (violations ?? []).every(
    ({ field, description }) => typeof field === "string" && typeof description === "string",
  );
}
