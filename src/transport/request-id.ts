/** Maximum length of a client's request id, in characters. */
const MAX_ID = 128;

/** Returns the id of a request, given the id that the client sent. */
export type RequestIds = (sent: string | undefined) => string;

/**
 * Creates request ids: the client's `x-request-id` if it is valid, otherwise an id that is unique among
 * all processes.
 *
 * @param prefix random prefix of this process.
 */
export function createRequestIds(prefix: string): RequestIds {
  let count = 0;
  return (sent) => {
    if (sent !== undefined && sent.length <= MAX_ID && /^[\w.:/+=-]+$/.test(sent)) return sent;
    count += 1;
    return `${prefix}-${count.toString(36)}`;
  };
}
