/** Longest request id that is taken over from a client, in characters. */
const MAX_ID = 128;

/** Makes the id of a request from the one that the client sent, if any. */
export type RequestIds = (sent: string | undefined) => string;

/**
 * Makes ids of calls: the client's own where it sent a sane `x-request-id`, otherwise one that is
 * unique among all processes of a site.
 *
 * @param prefix random, of this process.
 */
export function createRequestIds(prefix: string): RequestIds {
  let count = 0;
  return (sent) => {
    if (sent !== undefined && sent.length <= MAX_ID && /^[\w.:/+=-]+$/.test(sent)) return sent;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
