import type { RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Maximum number of concurrent requests of an HTTP/1.1 connection, besides the first. */
const UNDER_WAY = 31;

/** Queue of a connection's pipelined requests. */
interface Line {
  underWay: number;
  /** Starts of the waiting requests, in order. */
  readonly waiting: (() => void)[];
}

const LINE = Symbol("line");

/** Node's counter of pending output: a private member, which a test checks. */
type Counted = ServerResponse & { _onPendingData(bytes: number): void };

/**
 * Limits pipelining (RFC 9112, section 9.3.2). Node reads requests until enough output is pending;
 * each request counts as a part of that limit, so that Node stops reading after a few requests.
 * Requests that were already read wait in a queue.
 */
export function limitPipelining(handler: RequestListener): RequestListener {
  return (request, response) => {
    // Usual case: no earlier request is pending, so that the response has its socket already.
    if (response.socket !== null) return handler(request, response);
    const socket: Socket & { [LINE]?: Line } = request.socket;
    socket[LINE] ??= { underWay: 0, waiting: [] };
    const line = socket[LINE];
    const weight = socket.writableHighWaterMark / UNDER_WAY;
    const begin = (): void => {
      line.underWay += 1;
      handler(request, response);
    };
    (response as Counted)._onPendingData(weight);
    response.once("close", () => {
      (response as Counted)._onPendingData(-weight);
      line.underWay -= 1;
      // After the connection was closed, waiting requests are dropped.
      if (!socket.destroyed) line.waiting.shift()?.();
    });
    if (line.underWay < UNDER_WAY) begin();
    else line.waiting.push(begin);
  };
}
