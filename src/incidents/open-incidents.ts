import type { Incident, Signals } from "./incident.ts";
import type { StoredIncident } from "./store.ts";

/** Maximum number of open incidents; further failing mounts have none. */
export const MAX_OPEN = 10_000;
/**
 * Maximum number of open incidents of a site, and of failing mounts without one that are read
 * in a list, so that one site does not use up the space and the time of all.
 */
export const MAX_OPEN_OF_SITE = 1_000;

/** State of one mount. */
export interface MountSignals {
  readonly signals: Signals;
  readonly incident: StoredIncident | undefined;
  /** Text that changes with the row. */
  readonly form: string;
}

const NEW: MountSignals = { signals: {}, incident: undefined, form: "" };

/** Mounts with signals or an open incident, by site and path, in memory. */
export class OpenIncidents {
  readonly #mounts = new Map<string, Map<string, MountSignals>>();
  #count = 0;
  readonly #counts = new Map<string, number>();

  get(siteId: string, path: string): MountSignals {
    return this.#mounts.get(siteId)?.get(path) ?? NEW;
  }

  /** Sites with such mounts. */
  siteIds(): string[] {
    return [...this.#mounts.keys()];
  }

  /** Paths of such mounts of a site. */
  paths(siteId: string): string[] {
    return [...(this.#mounts.get(siteId)?.keys() ?? [])];
  }

  all(): readonly Incident[] {
    return [...this.#mounts.values()].flatMap((ofSite) =>
      [...ofSite.values()].flatMap(({ incident }) => (incident ? [incident] : [])),
    );
  }

  /** @param waiting number of new incidents of the site that are not stored yet. */
  hasSpace(siteId: string, waiting: number): boolean {
    return this.#countOf(siteId) + waiting < MAX_OPEN_OF_SITE && this.#count + waiting < MAX_OPEN;
  }

  /** Replaces the state of a mount. One without signals and without an open incident is forgotten. */
  set(siteId: string, path: string, next: MountSignals): void {
    const ofSite = this.#mounts.get(siteId) ?? new Map<string, MountSignals>();
    const isOpen = next.incident !== undefined && next.incident.closedAt === 0;
    const added = Number(isOpen) - Number(ofSite.get(path)?.incident !== undefined);
    this.#count += added;
    this.#counts.set(siteId, this.#countOf(siteId) + added);
    if (!isOpen && Object.keys(next.signals).length === 0 && next.form === "") ofSite.delete(path);
    else ofSite.set(path, isOpen ? next : { ...next, incident: undefined });
    if (ofSite.size > 0) this.#mounts.set(siteId, ofSite);
    else {
      this.#mounts.delete(siteId);
      this.#counts.delete(siteId);
    }
  }

  /** Replaces all states by stored incidents. */
  reset(incidents: readonly StoredIncident[]): void {
    this.#mounts.clear();
    this.#counts.clear();
    this.#count = 0;
    for (const incident of incidents)
      this.set(incident.siteId, incident.mountPath, {
        incident,
        signals: incident.signals,
        form: "",
      });
  }

  #countOf(siteId: string): number {
    return this.#counts.get(siteId) ?? 0;
  }
}
