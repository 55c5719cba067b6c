import type { Text } from "../messages/message.ts";
import type { SiteClient } from "./client.ts";

/** Running server to which records are brought. A changed site is another object. */
export interface Target {
  readonly id: string;
  /** http or https URL with the server's path prefix. */
  readonly url: string;
  readonly token: string;
  /** PEM text of an authority; empty: Node's default authorities. */
  readonly ca: string;
  /** SHA-256 of its certificate, 64 hexadecimal digits; empty: the authority decides. */
  readonly pin: string;
  readonly paused: boolean;
  /** Whether calls of users wait for it. */
  readonly upstream: boolean;
}

/** Failed attempts to reach a site. */
export interface Failure {
  /** `SiteFailureKind` of the last one. */
  readonly kind: string;
  readonly message: Text;
  /** Time of the first failure of this kind in a row, in milliseconds since 1970 UTC. */
  readonly since: number;
  /** Number of consecutive failures. */
  readonly failures: number;
  /** Time of the next attempt. */
  readonly nextTry: number;
}

/** End of an attempt that has reached its site. */
export interface Outcome {
  /** Milliseconds until the next one. */
  readonly requeueAfter: number;
  /** Whether an earlier planned attempt is dropped. It is not after a mere read. */
  readonly replans: boolean;
}

/** Exclusive work on the records of one kind on one site. */
export interface Job<T extends Target> {
  readonly site: T;
  readonly client: SiteClient;
  /** Whether the time of the next attempt has come, or the site was changed after the last one. */
  readonly isDue: boolean;
  /**
   * Runs one attempt to reach the site, and plans the next one.
   *
   * @param work may call `release` after its last call to the site, before it stores the result.
   * @param outcomeOf undefined: the result plans nothing.
   * @throws SiteFailure, which the adapter has stored.
   */
  attempt<R>(
    work: (release: () => void) => Promise<R>,
    outcomeOf: (result: R) => Outcome | undefined,
  ): Promise<R>;
}

/**
 * One kind of record that is brought to servers. Reconciliation is level-based: it reads what the
 * server has, and does not depend on the change that was its cause.
 */
export interface Adapter<T extends Target> {
  /** Maximum number of sites with concurrent work. */
  readonly concurrency: number;
  /** Failed attempts to reach a site, as stored; undefined: the last one has succeeded. */
  failureOf(siteId: string): Failure | undefined;
  /** Stores a failed attempt. @param isFirst whether it is the first of its kind in a row. */
  failed(site: T, failure: Failure, isFirst: boolean): Promise<void>;
  /**
   * Brings the records to a site, in attempts of the job. Called by the process with the lease alone.
   *
   * @throws SiteFailure.
   */
  reconcile(job: Job<T>): Promise<void>;
  /** Reads states that another process may have written. Default: nothing. */
  load?(): Promise<void>;
  /** Requests of users in all processes, which the process with the lease carries out. */
  readonly requests?: Requests;
}

/** Stored requests of users. */
export interface Requests {
  /** Ids of the sites with requests. */
  waiting(): Promise<ReadonlySet<string>>;
  /** Stores what the requests for a site have changed. No work on the site runs meanwhile. */
  carryOut(siteId: string): Promise<void>;
}
