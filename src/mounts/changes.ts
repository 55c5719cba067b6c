import { type Grant, outsideLimits } from "../access/grant.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { notFound, type ServiceError } from "../messages/error.ts";
import { checkManaged } from "../messages/managed.ts";
import { message } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { type DecideMounts, decideWithEffects, isRunning } from "./effect.ts";
import { isSecretItem } from "./input.ts";
import { isAllowed, type Mount } from "./mount.ts";
import { createMountEtag, type MountEtag } from "./mount-etag.ts";
import type { Caller, ChangeOptions, Saved } from "./mount-service.ts";
import type { MountView } from "./mount-view.ts";
import type { Result, SaveRules } from "./save.ts";
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
}

/** Common parts of all changes of mounts: rights of the caller, rules, effects. */
export interface MountChanges {
  readonly etagOf: MountEtag;
  /** File that declares a mount; undefined: clients change it. */
  readonly declaredBy: (name: string) => string | undefined;
  isSecret(driver: string, item: string): boolean;
  /** @throws FAILED_PRECONDITION for a mount that a file declares. */
  refuseManaged(name: string): void;
  /** All mounts that a caller may read. */
  readable(grant: Grant): readonly Mount[];
  /** A mount that a caller may change. @throws NOT_FOUND; PERMISSION_DENIED. */
  require(grant: Grant, mount: Mount | undefined, name: string): Mount;
  /** NOT_FOUND, with the nearest name. */
  unknown(name: string): ServiceError;
  /** Rules of a save by a caller. */
  rulesOf(caller: Caller, options: ChangeOptions): SaveRules;
  /** Names of all sites, with those that another process has created. */
  siteNames(): Promise<SiteNames>;
  /** @throws NOT_FOUND. */
  siteNamed(name: string): Promise<Site>;
  /** Sites whose mounts are written to their servers. */
  running(): readonly Site[];
  /** Commits a decision, or only makes it. Its results get their effects on running servers. */
  commit(caller: Caller, options: ChangeOptions, decide: DecideMounts<Result>): Promise<Saved>;
}

export function createMountChanges(deps: MountChangesDeps): MountChanges {
  const { ledger, view, sites, driverOf, declaredBy } = deps;
  const etagOf = createMountEtag(deps.fingerprint);
  const siteNames = () => readSiteNames(sites);
  const running = (): readonly Site[] =>
    sites.sites().filter((site) => isRunning(site, deps.registry.site(site.id)));
  const unknown = (name: string): ServiceError => {
    const hint = didYouMean(name, view.all().keys());
    return notFound(message("MOUNT_NOT_FOUND", { name: name.slice(0, 64), hint }));
  };
  return {
    etagOf,
    declaredBy,
    unknown,
    siteNames,
    running,
    isSecret: (driver, item) => isSecretItem(driverOf(driver), item),
    refuseManaged: (name) => checkManaged(name, declaredBy(name)),
    readable: (grant) => [...view.all().values()].filter((mount) => isAllowed(grant, mount)),
    require: (grant, mount, name) => {
      if (mount !== undefined && isAllowed(grant, mount)) return mount;
      throw grant.limits.length > 0 ? outsideLimits(grant) : unknown(name);
    },
    rulesOf: ({ grant }, { dryRun = false, allowShared = false }) => ({
      driverOf,
      driverNames: deps.driverNames,
      etagOf,
      allowShared,
      isDry: dryRun,
      isAdopted: false,
      sites: sites.names(),
      families: sites.sites().map(({ id, name }) => ({ id, name, kind: sites.state(id).kind })),
      managedBy: declaredBy,
      allows: (path) => grant.allowsPath("mount", path),
      refuse: () => {
        throw outsideLimits(grant);
      },
      reveals: grant.has("mounts:reveal"),
    }),
    siteNamed: async (name) => (await siteNames()).named(name),
    commit: async ({ origin }, { dryRun = false }, decide) => {
      const { result, revision } = await ledger.change(
        origin,
        decideWithEffects(running(), decide),
        { dryRun },
      );
      return { revision, results: result };
    },
  };
}
