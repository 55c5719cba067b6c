import { readFileSync } from "node:fs";
import type { ConfigItem, DriverInfo } from "../drivers/driver-info.ts";
import { Message, message, type Text } from "../messages/message.ts";
import { itemKind } from "../mounts/site/item-kind.ts";

/**
 * Class of an incident: the reason why a mount fails.
 * - `credential`: a token, cookie or password is no longer accepted.
 * - `person`: the provider requires a code, a captcha or a scan.
 * - `gone`: a share was withdrawn.
 * - `quota`: too many requests, or no space or traffic left.
 * - `network`: the provider could not be reached three times in a row.
 * - `configuration`: a path, bucket or value is wrong.
 */
export const CLASSES = [
  "credential",
  "person",
  "gone",
  "quota",
  "network",
  "configuration",
  "unknown",
] as const;

export type IncidentClass = (typeof CLASSES)[number];

/**
 * Source of an incident: the mount's status in the server's list, a listing by Mooring, the expiry
 * of a token, calls to a site, or a backup.
 */
const SOURCES = ["status", "probe", "expiry", "contact", "backup"] as const;

export type IncidentSource = (typeof SOURCES)[number];

/**
 * Subject of an incident: a mount of a site, a site, a token (one of Mooring, or that of a site), or
 * the backups to a target.
 */
export const SUBJECTS = ["mount", "site", "token", "backup"] as const;

export type IncidentSubject = (typeof SUBJECTS)[number];

/** Report of one source about a mount. */
interface Signal {
  readonly class: IncidentClass;
  /** First line of the server's message without secrets. */
  readonly message: string;
  /** Number of consecutive observations. */
  readonly count: number;
  /** Time of the last observation that was counted, in milliseconds since 1970 UTC. */
  readonly countedAt: number;
}

export type Signals = Readonly<Partial<Record<IncidentSource, Signal>>>;

/** Failure, open or closed. Times are milliseconds since 1970 UTC. */
export interface Incident {
  readonly id: string;
  readonly subject: IncidentSubject;
  /** Id of a token of Mooring, or name of the target of backups; else empty. */
  readonly name: string;
  /** Empty: the incident belongs to no site. */
  readonly siteId: string;
  /**
   * Path on the site; empty: the subject is no mount. Site and path identify the mount, which may be
   * unknown to Mooring.
   */
  readonly mountPath: string;
  readonly driver: string;
  readonly class: IncidentClass;
  readonly source: IncidentSource;
  readonly message: Text;
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

/** Number of consecutive network errors that open an incident. */
const NETWORK_ERRORS = 3;
/** Minimum time between two errors that are counted separately, in milliseconds. */
const APART = 30_000;
/** Precedence of the sources of an incident: results of listings at the provider come first. */
const ORDER: readonly IncidentSource[] = ["probe", "status", "expiry"];

/** Observation of a mount. */
export type Observation =
  /** The mount's status in the server's list. `remade`: the row was changed since the last read. */
  | { readonly kind: "status"; readonly status: string; readonly remade: boolean }
  /** The mount is disabled or deleted. */
  | { readonly kind: "off" }
  /** Result of a listing; empty: success. */
  | { readonly kind: "probe"; readonly error: string }
  /** Expiry of a token; undefined: no token expires soon. */
  | { readonly kind: "expiry"; readonly error: string | undefined };

/**
 * Updates the signals of a mount after an observation.
 * Servers keep the status `work` while listings fail, and an error while they work again: each source
 * clears only its own signal. A changed row clears the signals of listings of the former row.
 *
 * @param plain removes secrets from a message and shortens it to its first line.
 */
export function observe(
  signals: Signals,
  observation: Observation,
  { now, plain }: { readonly now: number; readonly plain: (message: string) => string },
): Signals {
  const { probe: _probe, status: _status, expiry: _expiry, ...none } = signals;
  const keep = (...sources: readonly IncidentSource[]): Signals => ({
    ...none,
    ...Object.fromEntries(
      sources.flatMap((source) => (signals[source] ? [[source, signals[source]]] : [])),
    ),
  });
  const add = (source: IncidentSource, message: string, rest: Signals): Signals => ({
    ...rest,
    [source]: nextSignal(signals[source], message, { now, plain }),
  });
  switch (observation.kind) {
    case "off":
      return {};
    case "status": {
      const rest = observation.remade ? keep("expiry") : keep("probe", "expiry");
      // Empty: the mount is still starting, and its state is unknown.
      if (observation.status === "")
        return observation.remade ? rest : keep("probe", "status", "expiry");
      return observation.status === "work" ? rest : add("status", observation.status, rest);
    }
    case "probe":
      return observation.error === ""
        ? keep("status", "expiry")
        : add("probe", observation.error, keep("status", "expiry"));
    case "expiry": {
      const rest = keep("probe", "status");
      if (observation.error === undefined) return rest;
      const message = plain(observation.error);
      return { ...rest, expiry: { class: "credential", message, count: 1, countedAt: now } };
    }
  }
}

function nextSignal(
  before: Signal | undefined,
  message: string,
  { now, plain }: { readonly now: number; readonly plain: (message: string) => string },
): Signal {
  const kind = classify(message);
  const isSameKind = before?.class === kind;
  const isCounted = !isSameKind || now - before.countedAt >= APART || now < before.countedAt;
  return {
    class: kind,
    message: plain(message),
    count: (isSameKind ? before.count : 0) + (isCounted ? 1 : 0),
    countedAt: isCounted ? now : before.countedAt,
  };
}

/** Signal shown by an incident; undefined: the mount works, or has failed too few times. */
export function leadingSignal(
  signals: Signals,
): { readonly source: IncidentSource; readonly signal: Signal } | undefined {
  for (const source of ORDER) {
    const signal = signals[source];
    if (signal !== undefined && (signal.class !== "network" || signal.count >= NETWORK_ERRORS))
      return { source, signal };
  }
  return undefined;
}

/** One entry of `src/data/incident-classes.json`: case-insensitive regular expressions. */
interface Entry {
  readonly class: IncidentClass;
  readonly patterns: readonly string[];
}

const DATA_FILE = new URL("../data/incident-classes.json", import.meta.url);
const entries = (JSON.parse(readFileSync(DATA_FILE, "utf8")) as Entry[]).map((entry) => ({
  class: entry.class,
  pattern: new RegExp(entry.patterns.join("|"), "i"),
}));

/** Maximum number of characters that are matched: a message may be an HTML page. */
const MAX_LENGTH = 4_000;

/**
 * Finds the class of a driver's error message. The first matching entry is used: a timeout during
 * the refresh of a token is a network error.
 */
export function classify(message: string): IncidentClass {
  const text = message.slice(0, MAX_LENGTH);
  return entries.find(({ pattern }) => pattern.test(text))?.class ?? "unknown";
}

/** Advice for each class of incident. */
const ACTIONS: Readonly<Record<IncidentClass, Message>> = {
  credential: message("DO_REPLACE_CREDENTIAL"),
  person: message("DO_SIGN_IN"),
  gone: message("DO_REPLACE_SHARE"),
  quota: message("DO_WAIT"),
  network: message("DO_CHECK_NETWORK"),
  configuration: message("DO_COMPARE_CONFIGURATION"),
  unknown: message("DO_READ_LOG"),
};

/** Advice for a user about the cause of an incident. */
export function actionOf(kind: IncidentClass): Message {
  return ACTIONS[kind];
}

/**
 * Advice for a user about an incident, with the way to mount the mount again.
 *
 * @param mount name of Mooring's mount at this place; undefined: only the site has it.
 */
export function remedyOf(
  kind: IncidentClass,
  { site, mount }: { readonly site: Text; readonly mount: string | undefined },
): Message {
  const next =
    mount === undefined
      ? message("DO_ENABLE_THERE")
      : message("DO_SYNC_MOUNT", { site, name: mount });
  return message("DO_THEN", { remedy: actionOf(kind), next });
}

/** Place of an incident, by the names that people use. */
export interface IncidentPlace {
  readonly site: Text;
  /** Name of Mooring's mount at this place; undefined: only the site has it. */
  readonly mount: string | undefined;
  /** Name of the token's principal, or of the target of backups. */
  readonly name: string;
}

/** Advice for a user about an incident. */
export function adviceOf(incident: Incident, { site, mount }: IncidentPlace): Message {
  switch (incident.subject) {
    case "mount":
      return remedyOf(incident.class, { site, mount });
    case "site":
      if (awaitsRestore(incident)) return message("DO_COMPLETE_RESTORE", { site });
      return incident.class === "credential"
        ? message("DO_REPLACE_SITE_TOKEN", { site })
        : message("DO_CHECK_SITE", { site });
    case "token":
      return incident.siteId === ""
        ? message("DO_ROTATE_TOKEN", { id: incident.name })
        : message("DO_REPLACE_SITE_TOKEN", { site });
    case "backup":
      return message("DO_CHECK_BACKUP");
  }
}

/** Reports whether an incident is about a site that a restore has paused. */
function awaitsRestore({ message: cause }: Incident): boolean {
  return cause instanceof Message && cause.id === "SITE_IS_RESTORED";
}

/** Problem of an incident in a few words. */
export function titleOf(incident: Incident, { site, name }: IncidentPlace): Message {
  switch (incident.subject) {
    case "mount":
      return message("MOUNT_FAILS", { site, mount: incident.mountPath });
    case "site":
      if (awaitsRestore(incident)) return message("SITE_RESTORE_NOT_ENDED", { site });
      return message(incident.class === "credential" ? "SITE_TOKEN_REFUSED" : "SITE_FAILS", {
        site,
      });
    case "token":
      return incident.siteId === ""
        ? message("OWN_TOKEN_ENDS", { name: name || incident.name })
        : message("SITE_TOKEN_ENDS", { site });
    case "backup":
      return message("BACKUP_FAILS", { name });
  }
}

/** Items of a driver that may have to be replaced: credentials, for classes that are about them. */
export function itemsToReplace(
  kind: IncidentClass,
  driver: DriverInfo | undefined,
): readonly ConfigItem[] {
  if (driver === undefined || (kind !== "credential" && kind !== "person")) return [];
  return driver.additional.filter(
    ({ name, secret }) => secret || itemKind(driver.config.name, name) === "learned",
  );
}
