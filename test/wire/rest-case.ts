import { expect } from "vitest";
import { TOKEN } from "./service.ts";
import type { HttpReply, HttpRequest, SendHttp } from "./transport/http.ts";

/** One REST request and its envelope. */
export interface RestCase {
  readonly name: string;
  readonly path: string;
  readonly request: HttpRequest;
  readonly code: number;
  /** What the message is, or says. */
  readonly message: string | RegExp;
  /** What `data` is; a matcher where it matters only in part. */
  readonly data: unknown;
  /** The HTTP status is the code, whatever MOORING_HTTP_STATUS says. */
  readonly real: boolean;
  /** Headers of the reply. */
  readonly headers: Readonly<Record<string, string | RegExp>>;
}

/** The two ways of MOORING_HTTP_STATUS. */
export const STATUS_MODES = ["envelope", "code"] as const;

const admin = { authorization: TOKEN };

/** What a request may say besides; the admin's token is added unless it says otherwise. */
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

/** A request on a documented path that fails: 200 and the code in the envelope, by default. */
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

/** Sends a case's request and checks all that there is to check of an envelope. */
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

/** What holds for every reply: a request id, and nothing of the program's inside. */
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
