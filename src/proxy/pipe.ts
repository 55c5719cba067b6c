import {
  type ClientRequest,
  type IncomingMessage,
  request as requestHttp,
  type ServerResponse,
} from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP } from "node:net";
import { release } from "../transport/body.ts";
import { type ConnectionBounds, PeerCounts } from "../transport/connection-limit.ts";
import { announcesBody, hasEnded, isGone } from "../transport/request.ts";
import { cutOff } from "../transport/whole-reply.ts";
import { answer, pump } from "./answer.ts";
import { type Origin, requestHeaders } from "./header.ts";
import { ReadingAgent } from "./reading.ts";

/** Idle limit of a transfer, in milliseconds: storages may be loading. */
const IDLE = 15 * 60_000;
/** Maximum number of idle connections. */
const KEPT = 64;

export interface PipeOptions {
  /** http or https URL; its path is ignored, targets are forwarded unchanged. */
  readonly url: URL;
  /** Name of this process in `Via`, for the upstream and for loop detection. */
  readonly via: string;
  readonly originOf: (request: IncomingMessage) => Origin;
  /** Limits for concurrent requests to the upstream, each of which has a connection. */
  readonly bounds: ConnectionBounds;
  /** Header `authorization` for the upstream, derived from the first one; undefined: none. */
  readonly authorizationOf: (request: IncomingMessage) => string | undefined;
  /** Short description of a failed connection, without its address. */
  readonly reasonOf: (error: Error) => string;
  /** Sends a whole reply in place of the upstream's; its status is 400, 502, 503 or 508. */
  readonly refuse: (
    request: IncomingMessage,
    response: ServerResponse,
    status: number,
    message: string,
  ) => void;
  /** Called with the reason of a failed connection. */
  readonly onFailure: (reason: string) => void;
}

/** Forwards requests to the upstream. */
export interface Pipe {
  /**
   * Passes one request unchanged and unbuffered.
   *
   * @param onReply called with the reply's headers; its result receives the body instead of the
   *   client, and the reply is sent afterwards.
   * @returns resolves when the exchange is over, in any way.
   */
  pass(
    request: IncomingMessage,
    response: ServerResponse,
    onReply?: (status: number) => ((body: Buffer) => Promise<void>) | undefined,
  ): Promise<void>;
  close(): void;
}

/** Methods that are repeated if a kept connection was closed meanwhile. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PROPFIND"]);

export function createPipe(options: PipeOptions): Pipe {
  const { url, via, originOf, bounds, refuse } = options;
  const isTls = url.protocol === "https:";
  const agent = new (isTls ? HttpsAgent : ReadingAgent)({ keepAlive: true, maxFreeSockets: KEPT });
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const target: Target = {
    isTls,
    agent,
    host,
    port: url.port || (isTls ? 443 : 80),
    // SNI does not permit IP addresses (RFC 6066, section 3).
    ...(isTls && isIP(host) === 0 ? { servername: host } : {}),
  };
  let underWay = 0;
  const ofPeers = new PeerCounts();

  const pass: Pipe["pass"] = async (request, response, onReply) => {
    // The client disconnected while waiting; the event is not emitted again.
    if (isGone(request)) return;
    if (isLoop(request, via)) {
      refuse(
        request,
        response,
        508,
        "this request was forwarded in a loop: check that the upstream is not this service itself",
      );
      return;
    }
    const origin = originOf(request);
    if (ofPeers.enter(origin.peer) > bounds.eachPeer || underWay >= bounds.all) {
      ofPeers.leave(origin.peer);
      refuse(
        request,
        response,
        503,
        "too many requests to the upstream at a time; try again in a moment",
      );
      return;
    }
    underWay += 1;
    try {
      await new Passage({ ...options, target, request, response, origin, onReply }).run();
    } finally {
      underWay -= 1;
      ofPeers.leave(origin.peer);
    }
  };
  return { pass, close: () => agent.destroy() };
}

/** The upstream, as options of Node's requests. */
interface Target {
  readonly isTls: boolean;
  readonly agent: HttpsAgent | ReadingAgent;
  readonly host: string;
  readonly port: string | number;
  readonly servername?: string;
}

interface PassageOptions
  extends Pick<PipeOptions, "via" | "authorizationOf" | "reasonOf" | "refuse" | "onFailure"> {
  readonly target: Target;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly origin: Origin;
  readonly onReply: Parameters<Pipe["pass"]>[2];
}

/** One request on its way to the upstream, and its reply. */
class Passage {
  readonly #options: PassageOptions;
  readonly #hasBody: boolean;
  #call: ClientRequest | undefined;
  /** Ends the reading of the request's body. */
  #stop = (): void => {};
  #isAnswered = false;
  /** The client has disconnected. */
  #hasLeft = false;

  constructor(options: PassageOptions) {
    this.#options = options;
    this.#hasBody = announcesBody(options.request);
  }

  /** Resolves when the exchange is over, in any way. */
  run(): Promise<void> {
    const { request, response } = this.#options;
    // A client that expects 100 Continue gets it here (RFC 9110, section 10.1.1).
    if (/100-continue/i.test(request.headers.expect ?? "")) response.writeContinue();
    const over = new Promise<void>((resolve) => {
      response.once("close", () => {
        // Aborts an incomplete transfer, and a request without a receiver.
        if (!response.writableEnded || this.#call?.writableEnded === false) this.#leave();
        resolve();
      });
    });
    request.once("error", () => this.#leave());
    // Runs before the pump ends the request: an incomplete request must not look complete to the
    // upstream.
    request.once("end", () => {
      if (!hasEnded(request)) this.#leave();
    });
    request.once("close", () => {
      if (this.#hasBody && !request.complete) this.#leave();
    });
    this.#send({ isRepeat: false });
    return over;
  }

  #send({ isRepeat }: { readonly isRepeat: boolean }): void {
    const { target, request } = this.#options;
    const call = this.#open();
    if (call === undefined) return;
    this.#call = call;
    call.setTimeout(IDLE, () => call.destroy(new Error("no data was transferred for too long")));
    if (target.isTls) releaseReads(call);
    call.on("error", (error) => this.#onError(call, error, isRepeat));
    call.once("close", () => {
      // For example for an unrequested protocol change.
      if (this.#call === call && !this.#isAnswered && !this.#hasLeft)
        this.#fail("it closed the connection");
    });
    if (this.#hasBody) this.#stop = pump(request, call);
    call.on("response", (reply) => this.#answer(call, reply));
    if (!this.#hasBody) call.end();
  }

  #open(): ClientRequest | undefined {
    const { target, request, response, origin, via, authorizationOf, refuse } = this.#options;
    const headers = requestHeaders(request, {
      ...origin,
      via,
      authorization: authorizationOf(request),
    });
    const { isTls, ...upstream } = target;
    const send = isTls ? requestHttps : requestHttp;
    try {
      return send({ ...upstream, method: request.method, path: request.url, headers });
    } catch {
      // HTTP/2 transports targets and values that are invalid in HTTP/1.1.
      refuse(request, response, 400, "this request cannot be forwarded to the upstream");
      return undefined;
    }
  }

  #answer(call: ClientRequest, reply: IncomingMessage): void {
    const { request, response, onReply } = this.#options;
    this.#isAnswered = true;
    try {
      const taker = onReply?.(reply.statusCode ?? 0);
      const hasBody = this.#hasBody;
      answer(reply, { call, request, response, hasBody, taker, stop: this.#stop });
    } catch {
      call.destroy();
      this.#fail("its reply is not HTTP");
    }
  }

  #onError(call: ClientRequest, error: NodeJS.ErrnoException, isRepeat: boolean): void {
    const { request, response, reasonOf } = this.#options;
    if (response.writableEnded) return;
    if (this.#hasLeft) return void response.destroy();
    const isStale = call.reusedSocket && !this.#hasBody && error.code === "ECONNRESET";
    if (isStale && !isRepeat && REPEATABLE.has(request.method ?? ""))
      this.#send({ isRepeat: true });
    else this.#fail(reasonOf(error));
  }

  #fail(reason: string): void {
    const { request, response, refuse, onFailure } = this.#options;
    this.#isAnswered = true;
    if (response.headersSent || response.destroyed) return void cutOff(response);
    onFailure(reason);
    this.#stop();
    refuse(request, response, 502, `the upstream does not answer: ${reason}`);
  }

  #leave(): void {
    this.#hasLeft = true;
    this.#call?.destroy();
  }
}

/** Releases the bytes read for a call as soon as the parser has copied its part. */
function releaseReads(call: ClientRequest): void {
  call.once("socket", (socket) => {
    // Added after the parser's listener, and without the listener of an earlier call.
    socket.off("data", release).on("data", release);
    call.once("close", () => socket.off("data", release));
  });
}

function isLoop({ headers }: IncomingMessage, via: string): boolean {
  return headers.via?.split(",").some((hop) => hop.trim().endsWith(` ${via}`)) ?? false;
}
