/** Limits of a call over Connect or gRPC-Web. */
export const connectLimits = {
  /** Longest request message, in bytes. The library's default is 4 GiB. */
  readMaxBytes: 4 * 1024 * 1024,
  /** Longest reply, in bytes. */
  writeMaxBytes: 64 * 1024 * 1024,
  /** Longest deadline that a client may ask for. The library's default is none. */
  maxTimeoutMs: 24 * 60 * 60 * 1000,
} as const;

/** The members of a contract, as REST shows them: proto names, every member present. */
export const jsonOptions = {
  useProtoFieldName: true,
  alwaysEmitImplicit: true,
  ignoreUnknownFields: true,
} as const;
