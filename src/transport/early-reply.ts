// Replies of a port before its handlers exist.

/** HTTP/1.1 reply with `Connection: close`. */
function replyOf(status: string, text: string): string {
  return [
    `HTTP/1.1 ${status}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${text.length}`,
    "Cache-Control: no-store",
    "Connection: close",
    "",
    text,
  ].join("\r\n");
}

const STARTING = "the service is starting; try again in a moment\n";
/** Reply to an HTTP/1.1 connection that waited too long for the handlers. */
export const UNAVAILABLE = replyOf("503 Service Unavailable\r\nRetry-After: 1", STARTING);
/** Requests that are answered before the handlers exist: start of the request line, and reply. */
export const EARLY_REPLIES: readonly (readonly [string, string])[] = [
  ["GET /ping HTTP/1.", replyOf("200 OK", "pong")],
  ["GET /livez HTTP/1.", replyOf("200 OK", "ok\n")],
  ["GET /readyz HTTP/1.", replyOf("503 Service Unavailable", `[-] start: ${STARTING}`)],
];
/** Bytes by which every early request is recognized. */
export const LONGEST_EARLY = Math.max(...EARLY_REPLIES.map(([line]) => line.length));
/**
 * Empty SETTINGS and GOAWAY with stream 0 and NO_ERROR: no stream was processed, so that clients may
 * repeat their requests (RFC 9113, section 6.8).
 */
export const GOAWAY = Buffer.from(
  "000000040000000000" + "00000807000000000000000000" + "00000000",
  "hex",
);
