import type { Interceptor } from "@connectrpc/connect";

/**
 * How old a reply may be that was made without the database, in a header (or metadata): whole seconds
 * since the database has last answered, rounded up. No reply has it while the database answers.
 *
 * It is not `Age` (RFC 9111, section 5.1): that belongs to caches on the way, which add their own time
 * to it, and it is no word of gRPC.
 */
const HEADER = "mooring-stale-seconds";

/** @param awayFor milliseconds since the database has answered, where it is away; 0: it is there. */
export function staleInterceptor(awayFor: () => number): Interceptor {
  return (next) => (request) => {
    const silence = awayFor();
    if (silence === 0) return next(request);
    return next(request).then((response) => {
      response.header.set(HEADER, String(Math.ceil(silence / 1_000)));
      return response;
    });
  };
}
