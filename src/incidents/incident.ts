/**
 * Class of an incident: the reason why a mount fails.
 * - `credential`: a token, cookie or password is no longer accepted.
 * - `person`: the provider requires a code, a captcha or a scan.
 * - `quota`: too many requests, or no space or traffic left.
 * - `network`: the provider could not be reached three times in a row.
 * - `configuration`: a path, bucket or value is wrong.
 */
export const CLASSES = [
  "credential",
  "person",
  "quota",
  "network",
  "configuration",
  "unknown",
] as const;

export type IncidentClass = (typeof CLASSES)[number];

/**
 * Source of an incident: the mount's status in the server's list, a listing by Mooring, or the
 * expiry of a token.
 */
const SOURCES = ["status", "probe", "expiry"] as const;

export type IncidentSource = (typeof SOURCES)[number];

/** Report of one source about a mount. */
export interface Signal {
  readonly class: IncidentClass;
  /** First line of the server's message without secrets. */
  readonly message: string;
  /** Number of consecutive observations. */
  readonly count: number;
  /** Time of the last observation that was counted, in milliseconds since 1970 UTC. */
  readonly countedAt: number;
}

export type Signals = Readonly<Partial<Record<IncidentSource, Signal>>>;

/** Failure of a site's mount, open or closed. Times are milliseconds since 1970 UTC. */
export interface Incident {
  readonly id: string;
  readonly siteId: string;
  /** Path on the site. Site and path identify the mount, which may be unknown to Mooring. */
  readonly mountPath: string;
  readonly driver: string;
  readonly class: IncidentClass;
  readonly source: IncidentSource;
  readonly message: string;
  readonly openedAt: number;
  /** Time of the last change of class, source or message. */
  readonly changedAt: number;
  /** 0: it is open. */
  readonly closedAt: number;
  /** 0: not acknowledged. */
  readonly acknowledgedAt: number;
  readonly acknowledgedBy: string;
  /** Note of the user who acknowledged it. */
  readonly note: string;
}

/** A change of an incident, as webhooks send it. */
export type IncidentEvent = "opened" | "changed" | "acknowledged" | "closed";
