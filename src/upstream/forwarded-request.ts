import type { IncomingMessage, ServerResponse } from "node:http";
import { readToken } from "../access/token-text.ts";
import { waitAtMost } from "../pause.ts";
import type { Pipe } from "../proxy/pipe.ts";
import { copyBody, describeChange } from "./forwarded-change.ts";
import type { ForwardedCall } from "./forwarding.ts";
import type { Upstream } from "./upstream.ts";

/** Members of the upstream for forwarded requests. */
export type UpstreamEvents = Pick<
  Upstream,
  | "isReady"
  | "forget"
  | "identify"
  | "adminRequest"
  | "forwardChange"
  | "forwardMountChange"
  | "forwardRuleChange"
  | "changeForwarded"
  | "tokenReset"
>;

/** Parts of the program for forwarded changes. */
export interface ForwarderOptions {
  readonly pipe: Pipe;
  /** Id and client of a request, as calls of the contract have them. */
  readonly requestId: (sent: string | undefined) => string;
  readonly peerOf: (request: IncomingMessage) => string;
  readonly events: UpstreamEvents;
}

export const RESET_TOKEN = "/api/admin/setting/reset_token";

/** Maximum delay of a reply until its change is adopted, in milliseconds. */
const HELD = 5_000;
/** Limit for one change to block others, including its request, in milliseconds. */
const LONGEST_CHANGE = 30_000;

/** Forwards requests that may change something, each with its effects here. */
export function createForwarder({ pipe, requestId, peerOf, events }: ForwarderOptions) {
  /** Identifies the admin before forwarding, because the request may end its own login. */
  const adminOf = async (
    request: IncomingMessage,
    path: string,
  ): Promise<ForwardedCall | undefined> => {
    const { headers } = request;
    // The address of a closed socket is unknown.
    const peer = peerOf(request);
    const visitor = await events.identify(
      readToken(headers.authorization),
      textOf(headers["client-id"]),
    );
    if (visitor.kind !== "admin") return undefined;
    return {
      visitor: visitor.name,
      call: path.slice(path.lastIndexOf("/") + 1).slice(0, 64),
      requestId: requestId(textOf(headers["x-request-id"])),
      peer,
    };
  };
  const forwardReset = async (
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> => {
    const by = await adminOf(request, RESET_TOKEN);
    await pipe.pass(request, response, () => async (body) => {
      // The former token must not be accepted from memory.
      events.forget("all");
      const token = newToken(body);
      if (token !== undefined) await events.tokenReset(token, by);
    });
  };
  /** Delays the reply until the change is adopted: the client reads it at once. */
  const forwardRequest = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    forwardChange: UpstreamEvents["forwardChange"],
  ): Promise<void> => {
    const by = await adminOf(request, path);
    // Only an admin can change anything: other requests are forwarded without a wait.
    if (by === undefined) return pipe.pass(request, response);
    const arrived = Promise.withResolvers<void>();
    const changed = forwardChange(() => {
      const over = pipe.pass(request, response, () => async () => {
        arrived.resolve();
        await waitAtMost(HELD, changed);
      });
      void over.then(() => arrived.resolve());
      return waitAtMost(LONGEST_CHANGE, arrived.promise);
    }, by);
    await changed;
  };
  /** Forwards a change of users, roles or shares, which the audit records with its admin. */
  const forwardAudited = async (
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    onReply: () => void = () => undefined,
  ): Promise<void> => {
    const by = await adminOf(request, path);
    const { url = "" } = request;
    const over = pipe.pass(request, response, () => async (reply) => {
      onReply();
      const change = describeChange(path, url, body());
      if (by !== undefined) await events.changeForwarded(change, by, codeOf(reply));
    });
    const body = copyBody(request);
    await over;
  };
  return { forwardReset, forwardRequest, forwardAudited };
}

/** Code of a reply's envelope; 0: none. */
function codeOf(body: Buffer): number {
  try {
    const { code } = JSON.parse(body.toString("utf8")) as { code?: unknown };
    return typeof code === "number" ? code : 0;
  } catch {
    return 0;
  }
}

function newToken(body: Buffer): string | undefined {
  try {
    const { code, data } = JSON.parse(body.toString("utf8")) as { code?: unknown; data?: unknown };
    return code === 200 && typeof data === "string" && data !== "" ? data : undefined;
  } catch {
    return undefined;
  }
}

/** The first value of a header. */
export function textOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}
