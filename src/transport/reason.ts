/**
 * Reasons of the errors that transports and gateway raise themselves, for `google.rpc.ErrorInfo`.
 * Errors of an application have their own reasons.
 */
export type Reason =
  | "PATH_INVALID"
  | "QUERY_INVALID"
  | "HEADER_INVALID"
  | "BODY_INVALID"
  | "BODY_TOO_LARGE"
  | "BODY_TOO_LATE"
  | "TOO_MANY_BODIES"
  | "PATH_NOT_FOUND"
  | "METHOD_NOT_ALLOWED"
  | "MEDIA_TYPE_UNSUPPORTED";
