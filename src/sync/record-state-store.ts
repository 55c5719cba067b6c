/** Stored state of a record on a site, or, with an empty name, of all its records of one kind. */
export interface StoredState {
  readonly siteId: string;
  /** Name of the record, or of a listing; `*` and more: a request. */
  readonly name: string;
  /** JSON. */
  readonly state: string;
}

/**
 * Name prefix of rows with requests to the process with the lease. Names of records never begin
 * with it.
 */
export const REQUEST = "*";

/** Name after all names of requests. */
export const AFTER_REQUESTS = "+";
/** Name of the row of a site that differs after each write of its states. */
export const MARK = "=";

/** Stores states of the records of one kind on sites. Rejects only with a StoreError. */
export interface RecordStateStore {
  /** Lists states by name. @param only `requests`: those of `request`; undefined: all. */
  list(only?: "requests"): Promise<readonly StoredState[]>;
  /** A text for each site that differs after each write of its states; empty: none was written. */
  marks(): Promise<ReadonlyMap<string, string>>;
  /** Lists states of a site by name. */
  ofSite(siteId: string): Promise<readonly StoredState[]>;
  /**
   * Writes and removes states in one transaction, those of deleted sites excepted. A text of
   * undefined removes.
   */
  write(
    changes: readonly { readonly siteId: string; readonly name: string; readonly state?: string }[],
  ): Promise<void>;
}
