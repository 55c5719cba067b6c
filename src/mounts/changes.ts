import type { Grant } from "../access/grant.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Caller } from "../records/caller.ts";
import { createRecordChanges, type RecordChanges } from "../records/changes.ts";
import { isRunning } from "../records/effect.ts";
import { saveRights } from "../records/save-rules.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import type { SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import { effectsOf, type RunningSite } from "./effect.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { Mount } from "./mount.ts";
import type { MountOptions } from "./mount-service.ts";
import type { MountView } from "./mount-view.ts";
import type { SaveRules } from "./save.ts";
import { isSecretItem } from "./secret-item.ts";
import type { MountRegistry } from "./site/registry.ts";

export interface MountChangesDeps {
  readonly ledger: Pick<Ledger, "snapshot" | "change">;
  readonly view: Pick<MountView, "all">;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "load" | "state">;
  readonly registry: Pick<MountRegistry, "site">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  readonly fingerprint: Fingerprint;
  /** File that declares a mount; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  /** `opensWhenMoved` of a site. */
  readonly movingOn: (site: Pick<Site, "id">) => RunningSite["opensWhenMoved"];
}

/** Common parts of all changes of mounts. */
export interface MountChanges extends RecordChanges<Mount> {
  isSecret(driver: string, item: string): boolean;
  /**
   * Mounts of these names, each once.
   *
   * @param names empty: all that the caller may read. @throws NOT_FOUND; PERMISSION_DENIED.
   */
  named(names: readonly string[], grant: Grant): readonly Mount[];
  /** Rules of a save by a caller. */
  rulesOf(caller: Pick<Caller, "grant">, options: MountOptions): SaveRules;
  /** Sites whose mounts are written to their servers. */
  running(): readonly RunningSite[];
}

export function createMountChanges(deps: MountChangesDeps): MountChanges {
  const { view, sites, driverOf, declaredBy } = deps;
  const running = (): readonly RunningSite[] =>
    sites
      .sites()
      .filter((site) => isRunning(site, deps.registry.site(site.id)))
      .map(({ id, name }) => ({ id, name, opensWhenMoved: deps.movingOn({ id }) }));
  const changes = createRecordChanges(SITE_MOUNTS, {
    ...deps,
    all: view.all,
    effects: () => {
      const written = running();
      return (change) => effectsOf(change, written);
    },
  });
  return {
    ...changes,
    running,
    named: (names, grant) =>
      names.length === 0
        ? changes.readable(grant)
        : [...new Set(names)].map((name) => changes.require(grant, view.all().get(name), name)),
    isSecret: (driver, item) => isSecretItem(driverOf(driver), item),
    rulesOf: ({ grant }, { dryRun = false, allowShared = false }) => ({
      driverOf,
      driverNames: deps.driverNames,
      etagOf: changes.etagOf,
      allowShared,
      isDry: dryRun,
      isAdopted: false,
      sites: sites.names(),
      families: sites.sites().map(({ id, name }) => ({ id, name, kind: sites.state(id).kind })),
      managedBy: declaredBy,
      ...saveRights(SITE_MOUNTS, grant),
    }),
  };
}
