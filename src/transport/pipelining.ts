import type { RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of one HTTP/1.1 connection that are under way at one time, besides the first. */
const UNDER_WAY = 31;

/** The requests of a connection that wait for the replies of others. */
interface Line {
  underWay: number;
  /** Begins those that wait, in their order. */
  readonly waiting: (() => void)[];
}

const LINE = Symbol("line");

/** Node's count of data waiting to be sent: a private member, which a test holds. */
type Counted = ServerResponse & { _onPendingData(bytes: number): void };

/**
 * A client may send requests without waiting for replies (RFC 9112, section 9.3.2), and Node reads on
 * until enough replies wait to be sent. Here each request counts as a part of that, so that Node reads
 * no more beyond a few; what it had read already waits for its turn.
 */
export function limitPipelining(handler: RequestListener): RequestListener {
  return (request, response) => {
    // Nearly every one: nothing is before it, so that it has its connection already.
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
      // Replies of waiting requests have no reader any more.
      if (!socket.destroyed) line.waiting.shift()?.();
    });
    if (line.underWay < UNDER_WAY) begin();
    else line.waiting.push(begin);
  };
}
