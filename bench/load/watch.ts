/** Many open watch streams. */
export interface WatchJob {
  readonly port: number;
  readonly token: string;
  /** `/package.Service/Method` of the stream. */
  readonly path: string;
  /** The request's message, base64. */
  readonly body: string;
  readonly streams: number;
  readonly connections: number;
  /** Further connections with one stream each that never read. */
  readonly stopped: number;
}

/** How one change travelled, in milliseconds from the moment it was sent. */
export interface Arrival {
  /** Until the save was acknowledged. */
  readonly acknowledged: number;
  /** Until half of the streams had it. */
  readonly median: number;
  /** Until the last stream had it. */
  readonly last: number;
}
