import { Code } from "@connectrpc/connect";

/**
 * The envelope's `code` for each canonical code. OUT_OF_RANGE is a client's mistake as well: it
 * asked for what is no longer, or not yet, there.
 */
export const ENVELOPE_CODE: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 500,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401,
};
