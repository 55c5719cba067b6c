import { Code } from "@connectrpc/connect";
import { type Grant, outsideLimits, ROOT } from "../access/grant.ts";
import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { DriverInfo } from "../drivers/driver-info.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { NO_RECORD } from "../ledger/record-etag.ts";
import {
  denied,
  failedPrecondition,
  invalid,
  notFound,
  ServiceError,
  unavailable,
} from "../messages/error.ts";
import { message, problemAt, type Text } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import type { Fingerprint } from "../secrets/fingerprint.ts";
import { createDeclared } from "../settings/provision/managed.ts";
import { checkManaged } from "../settings/save.ts";
import { readSiteNames, type SiteRegistry } from "../sites/registry.ts";
import { siteError } from "../sites/service.ts";
import type { Site } from "../sites/site.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createStateFeed } from "../state-feed.ts";
import { SiteFailure } from "../sync/failure.ts";
import { adoptContent, adoptRound, compareResults } from "./adopt.ts";
import { writeDocument } from "./archive/exported-row.ts";
import { type DecideMounts, decideWithEffects, effectsOfFollowing, isRunning } from "./effect.ts";
import { mountsKind } from "./history-kind.ts";
import { isSecretItem, type MountInput, nameProblem, replaceInputs, wholeInput } from "./input.ts";
import { draftMounts, MOUNTS } from "./kind.ts";
import {
  isAllowed,
  isOnSite,
  type Mount,
  missingFields,
  overridesByName,
  pathOn,
  siteNamesOf,
  withoutSite,
} from "./mount.ts";
import { createMountEtag } from "./mount-etag.ts";
import type { Caller, ChangeOptions, MountService, Saved } from "./mount-service.ts";
import type { MountView } from "./mount-view.ts";
import { nameByPath } from "./name-by-path.ts";
import { decideDelete, decideSave, type Result, resultAs } from "./save.ts";
import { sharedCredentials } from "./site/item-kind.ts";
import type { Lister } from "./site/listing.ts";
import { plainStatus } from "./site/plain.ts";
import { isFailing } from "./site/plan.ts";
import type { MountRegistry } from "./site/registry.ts";
import type { MountRound } from "./site/round.ts";
import type { MountSync } from "./site/sync.ts";
import { type Status, type StatusSources, statusOf, unreadSite } from "./status.ts";
import { createSummaries } from "./summary.ts";
import { type Target, type TestResult, testMounts } from "./test.ts";
import { isSameSource, readWatched, type WatchedMounts } from "./watch.ts";

export interface MountServiceDeps {
  readonly ledger: Ledger;
  readonly fingerprint: Fingerprint;
  readonly sites: Pick<SiteRegistry, "sites" | "names" | "load" | "state">;
  readonly view: MountView;
  readonly sync: Pick<MountSync, "read" | "request" | "push" | "forward" | "record">;
  readonly registry: MountRegistry;
  /** Listings of mounts at their providers. */
  readonly lister: Pick<Lister, "list" | "accountOf">;
  /** What is known about mounts besides their states on sites. */
  readonly health: Omit<StatusSources, "registry"> & {
    /** Class of an error of a driver. */
    readonly classOf: (error: string) => string;
    /** Reports whether further attempts with this class of error may lock the account. */
    readonly isRefusal: (kind: string) => boolean;
  };
  readonly driverOf: (name: string) => DriverInfo | undefined;
  readonly driverNames: () => Iterable<string>;
  /** Aborted when streams are to end. */
  readonly stopping: AbortSignal;
  /** Records a request that changes nothing in Mooring. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** Maximum number of mounts that an audit row names. */
const MAX_SUBJECTS = 100;

export function createMountService(deps: MountServiceDeps): MountService {
  const { ledger, registry, driverOf } = deps;
  const { all, wantedOf } = deps.view;
  const declared = createDeclared();
  const guard = (name: string): void => checkManaged(name, declared.by(name));
  const sources: StatusSources = { ...deps.health, registry };
  const watched = {
    source: () => ({
      snapshot: ledger.snapshot(),
      sites: deps.sites.sites(),
      driverNames: deps.driverNames(),
    }),
    mounts: all,
    driverOf,
    sources,
  };
  const feed = createStateFeed<WatchedMounts>({
    read: (before) => readWatched(before, watched),
    isCurrent: ({ source }) => isSameSource(source, watched.source()),
    stopping: deps.stopping,
    ended: () => unavailable(message("SERVICE_STOPPING")),
  });
  const summaries = createSummaries({
    mounts: all,
    statusOf: (mount, site) => statusOf(mount, site, sources),
    errorOf: (site) => {
      const { error, errorKind: kind, errorSince: since } = registry.site(site.id);
      return error === "" ? undefined : { kind, message: error, since };
    },
    stateOf: deps.health.siteState,
  });
  const listeners = new Set<() => void>();
  const changed = (siteId?: string): void => {
    summaries.forget(siteId);
    feed.changed();
    for (const listener of listeners) listener();
  };
  registry.onChange(changed);

  const readNames = () => readSiteNames(deps.sites);
  const siteNamed = async (name: string): Promise<Site> => (await readNames()).named(name);
  const allowed = (grant: Grant) => (mount: Mount) => isAllowed(grant, mount);
  const refuse = (grant: Grant) => (): never => {
    throw outsideLimits(grant);
  };
  const etagOf = createMountEtag(deps.fingerprint);
  const unknownMount = (name: string): ServiceError => {
    const near = didYouMean(name, all().keys());
    return notFound(message("MOUNT_NOT_FOUND", { name: name.slice(0, 64), hint: near }));
  };
  const need =
    (grant: Grant) =>
    (mount: Mount | undefined, name: string): Mount => {
      if (mount !== undefined && allowed(grant)(mount)) return mount;
      if (grant.limits.length > 0) refuse(grant)();
      throw unknownMount(name);
    };
  const rulesOf = ({ grant }: Caller, { dryRun = false, allowShared = false }: ChangeOptions) => ({
    driverOf,
    driverNames: deps.driverNames,
    etagOf,
    allowShared,
    isDry: dryRun,
    isTaken: false,
    sites: deps.sites.names(),
    families: deps.sites
      .sites()
      .map(({ id, name }) => ({ id, name, kind: deps.sites.state(id).kind })),
    managedBy: declared.by,
    allows: grant.allowsMount,
    refuse: refuse(grant),
    reveals: grant.has("mounts:reveal"),
  });
  const nameOf = nameByPath(all);
  /** Sites whose mounts are written to their servers. */
  const running = (): readonly Site[] =>
    deps.sites.sites().filter((site) => isRunning(site, registry.site(site.id)));
  const withEffects = (decide: DecideMounts<Result>) => decideWithEffects(running(), decide);
  const save = async (
    inputs: readonly MountInput[],
    caller: Caller,
    options: ChangeOptions = {},
  ): Promise<Saved> => {
    if (inputs.length === 0)
      throw invalid([
        { field: "mounts", description: message("GIVE_AT_LEAST_ONE", { field: "mounts" }) },
      ]);
    if (inputs.length > MAX_REQUEST)
      throw invalid([
        {
          field: "mounts",
          description: message("TOO_MANY_ENTRIES", { field: "mounts", most: MAX_REQUEST }),
        },
      ]);
    if (inputs.some(namesSites)) await readNames();
    const { result: results, revision } = await ledger.change(
      caller.origin,
      withEffects((draft, mounts) => decideSave(draft, inputs, mounts, rulesOf(caller, options))),
      { dryRun: options.dryRun ?? false },
    );
    return { revision, results };
  };
  const isSecret = (driver: string, item: string): boolean => isSecretItem(driverOf(driver), item);
  /** Adopts the differences of a site, as one revision. */
  const takeRound = (
    round: MountRound,
    site: Site,
    names: readonly string[],
    caller: Caller,
    options: ChangeOptions,
  ) =>
    adoptRound(round, {
      site,
      names,
      ledger,
      registry,
      driverOf,
      wantedOf,
      hash: deps.fingerprint,
      origin: caller.origin,
      dryRun: options.dryRun ?? false,
      mounts: all(),
      others: running().filter(({ id }) => id !== site.id),
      rules: { ...rulesOf(caller, options), allowShared: true, isTaken: true, carries: true },
    });
  const onSite = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw error instanceof SiteFailure ? siteError(error) : error;
    }
  };
  const statusOn = (mount: Mount, site: Site): Status => statusOf(mount, site, sources);
  const test = (targets: readonly Target[], signal: AbortSignal): Promise<readonly TestResult[]> =>
    testMounts(targets, {
      lister: deps.lister,
      rowsOf: async ({ id }) => (await deps.sync.read(id)).rows,
      record: ({ id }, row, error) => deps.sync.record(id, row, error, deps.health.classOf),
      statusOf: (row) => plainStatus(row, undefined, deps),
      remedyFor: deps.health.remedyFor,
      isRefusal: (error) => deps.health.isRefusal(deps.health.classOf(error)),
      now: () => performance.now(),
      signal,
    });
  const statuses = (mount: Mount): readonly Status[] =>
    deps.sites
      .sites()
      .filter(({ id }) => isOnSite(mount, id))
      .map((site) => statusOn(mount, site));
  return {
    revision: () => ledger.snapshot().revision,
    etagOf,
    list: async (grant, site = "") => {
      const mounts = [...all().values()].filter(allowed(grant));
      if (site === "") return mounts;
      const { id } = await siteNamed(site);
      return mounts.filter((mount) => isOnSite(mount, id));
    },
    nameOf,
    kind: mountsKind({
      mounts: all,
      sites: deps.sites.names,
      running,
      driverOf,
      nameOf,
      managedBy: declared.by,
    }),
    saved: (names) => [...names].flatMap((name) => all().get(name) ?? []),
    get: (name, grant) => need(grant)(all().get(name), name),
    ofSite: summaries.ofSite,
    looked: (siteId) => {
      const sites = deps.sites.sites().filter(({ id }) => siteId === undefined || id === siteId);
      const mounts = sites.flatMap((site) => {
        const listings = registry.listings(site.id);
        const own = [...all().values()].flatMap((mount) => {
          if (mount.disabled || !isOnSite(mount, site.id)) return [];
          const { state, listedAt } = statusOf(mount, site, sources);
          const isFailing = state === "failing" || state === "stuck";
          return [{ site: site.name, path: pathOn(mount, site.id), listedAt, isFailing }];
        });
        const others = registry.site(site.id).extra.flatMap(({ path, disabled = false }) => {
          const listing = listings.get(path);
          const isFailing = (listing?.error ?? "") !== "";
          return disabled ? [] : [{ site: site.name, path, listedAt: listing?.at ?? 0, isFailing }];
        });
        return [...own, ...others];
      });
      const unread = sites.flatMap((site) => {
        const cause = unreadSite(site, sources)?.cause ?? "";
        const { readAt } = registry.site(site.id);
        return cause === "" && !site.paused && readAt > 0
          ? []
          : [{ site: site.name, cause, readAt }];
      });
      return { mounts, unread };
    },
    onStatus: (listener) => {
      listeners.add(listener);
    },
    statuses,
    save,
    replace: async (at, value, caller, options = {}) => {
      const site = at.site === "" ? "" : (await siteNamed(at.site)).id;
      const { result, revision } = await ledger.change(
        caller.origin,
        withEffects((draft, mounts) => {
          const mount = need(caller.grant)(mounts.get(at.name), at.name);
          // The reply names each mount that has the same secret.
          if (isSecret(mount.driver, at.item) && !caller.grant.has("mounts:reveal"))
            throw denied(message("SCOPE_MISSING", { scope: "mounts:reveal" }));
          const inputs = replaceInputs(
            { mount, site, item: at.item, value },
            [...mounts.values()].filter(allowed(caller.grant)),
            deps.sites.names(),
          );
          // All these mounts already had the same value.
          const rules = { ...rulesOf(caller, options), allowShared: true };
          return decideSave(draft, inputs, mounts, rules);
        }),
        { dryRun: options.dryRun ?? false },
      );
      return { revision, results: result };
    },
    copy: async (name, to, caller, options = {}) => {
      const { result } = await ledger.change(caller.origin, async (draft) => {
        const from = need(caller.grant)(draft.get(MOUNTS, name), name);
        const { driver, disabled, content, items, members } = from;
        const sites = deps.sites.names();
        if (from.missing.length > 0)
          throw failedPrecondition(
            message("COPY_INCOMPLETE", { name, items: missingFields(from, sites).join(", ") }),
          );
        const shared = sharedCredentials(driver, [items, items]);
        if (shared.length > 0 && options.allowShared !== true)
          throw failedPrecondition(
            message("COPY_SHARES_CREDENTIAL", { copy: to.name, name, items: shared.join(", ") }),
          );
        // A copy does not reveal secrets: they are copied, but not returned.
        const input: MountInput = {
          name: to.name,
          path: to.path,
          driver,
          disabled,
          content,
          sites: siteNamesOf(from, sites),
          config: items,
          members,
          expectedEtag: NO_RECORD,
          overrides: Object.fromEntries(
            overridesByName(from, sites).map(([site, { items: own, members: few }]) => [
              site,
              { path: "", config: own, members: few },
            ]),
          ),
        };
        const rules = { ...rulesOf(caller, options), carries: true };
        await decideSave(draft, [input], draftMounts(draft), rules);
        return draft.get(MOUNTS, to.name);
      });
      return need(caller.grant)(all().get(to.name) ?? result, to.name);
    },
    rename: async (name, newName, caller) => {
      const problem = nameProblem(newName);
      if (problem !== undefined)
        throw invalid([{ field: "new_name", description: problemAt("new_name", problem) }]);
      await ledger.change(caller.origin, (draft) => {
        const mount = need(caller.grant)(draft.get(MOUNTS, name), name);
        guard(name);
        if (newName === name) return;
        const other = draft.get(MOUNTS, newName);
        // As a save with the name of a mount outside of the limits: its name is not confirmed.
        if (other !== undefined && !allowed(caller.grant)(other)) refuse(caller.grant)();
        if (other !== undefined)
          throw new ServiceError(Code.AlreadyExists, message("MOUNT_EXISTS", { name: newName }));
        draft.delete(MOUNTS, name);
        draft.put(MOUNTS, { ...mount, name: newName });
      });
      const renamed = need(caller.grant)(all().get(newName), newName);
      // The sites' rows stay unchanged: only their stored states get the new name.
      for (const site of deps.sites.sites()) {
        const state = registry.mounts(site.id).get(name);
        if (state !== undefined && newName !== name)
          await deps.sync.request(site.id, {
            forced: [],
            states: { [newName]: { ...state, applied: renamed.revision, tried: renamed.revision } },
            forget: [name],
          });
      }
      return renamed;
    },
    delete: async (names, caller, options = {}) => {
      if (names.length === 0 || names.length > MAX_REQUEST)
        throw invalid([
          {
            field: "names",
            description: message("GIVE_FROM_1", { field: "names", most: MAX_REQUEST }),
          },
        ]);
      const { result: results, revision } = await ledger.change(
        caller.origin,
        withEffects((draft) =>
          decideDelete(draft, names, (mount, name) => {
            const known = need(caller.grant)(mount, name);
            guard(name);
            return known;
          }),
        ),
        { dryRun: options.dryRun ?? false },
      );
      return { revision, results };
    },
    compare: async (name) => {
      const site = await siteNamed(name);
      const round = await onSite(deps.sync.read(site.id));
      return compareResults(round, site, wantedOf(site), registry.mounts(site.id));
    },
    sync: async (name, names, origin) => {
      const site = await siteNamed(name);
      const wanted = wantedOf(site);
      const known = new Set(wanted.map((mount) => mount.name));
      const asked = names.length === 0 ? [...known] : [...new Set(names)];
      for (const one of asked)
        if (!all().has(one)) throw unknownMount(one);
        else if (!known.has(one))
          throw notFound(message("MOUNT_NOT_ON_SITE", { site: name, name: one.slice(0, 64) }));
      const asks = asked.map((one) => `mount:${one}`);
      await deps.audit(doneEntry(origin, Date.now(), [name, ...asks.slice(0, MAX_SUBJECTS)], {}));
      const { rows } = await onSite(deps.sync.read(site.id));
      const listings = registry.listings(site.id);
      const failing = new Set(
        rows.filter((row) => isFailing(row, listings)).map(({ mount_path: path }) => path),
      );
      await onSite(deps.sync.push(site.id, asked));
      const mounts = asked.flatMap((one) => all().get(one) ?? []);
      // The status of a mount that was mounted again does not show whether the provider answers.
      const again = mounts.filter(
        (mount) =>
          failing.has(pathOn(mount, site.id)) &&
          registry.mounts(site.id).get(mount.name)?.status === "work",
      );
      if (again.length > 0)
        await test(
          again.map((mount) => ({ mount, site })),
          deps.stopping,
        );
      return mounts.map((mount) => statusOn(mount, site));
    },
    test: async (names, site, { grant, origin }, signal) => {
      const only = site === "" ? undefined : await siteNamed(site);
      const places = only === undefined ? deps.sites.sites() : [only];
      const asked =
        names.length === 0
          ? [...all().values()].filter(allowed(grant))
          : [...new Set(names)].map((name) => need(grant)(all().get(name), name));
      const targets = asked.flatMap((mount) => {
        const own = places.filter((each) => isOnSite(mount, each.id));
        if (own.length === 0 && names.length > 0 && only !== undefined)
          throw notFound(message("MOUNT_NOT_ON_SITE", { site, name: mount.name }));
        return own.map((each) => ({ mount, site: each }));
      });
      if (targets.length > MAX_REQUEST)
        throw invalid([
          {
            field: "names",
            description: message("TOO_MANY_TESTS", { count: targets.length, most: MAX_REQUEST }),
          },
        ]);
      const subjects = asked.slice(0, MAX_SUBJECTS).map(({ name }) => `mount:${name}`);
      const sites = only === undefined ? [] : [only.name];
      await deps.audit(doneEntry(origin, Date.now(), [...sites, ...subjects], {}));
      return test(targets, AbortSignal.any([signal, deps.stopping]));
    },
    adopt: async (name, names, caller, options = {}) => {
      const site = await siteNamed(name);
      const round = await onSite(deps.sync.read(site.id));
      const { saved, states } = await takeRound(round, site, names, caller, options);
      if (options.dryRun !== true) await onSite(deps.sync.request(site.id, { forced: [], states }));
      return saved;
    },
    forward: async (site, send, origin) => {
      await deps.sync.forward(site.id, send, async (round) => {
        // Before the first adoption, Mooring does not manage the site's mounts.
        if (!registry.site(site.id).contacted) return {};
        return (await takeRound(round, site, [], { grant: ROOT, origin }, {})).states;
      });
    },
    adoptContent: async (site, take, origin) => {
      await ledger.change(origin, (draft) => {
        for (const [name, items] of Object.entries(take))
          if (declared.by(name) === undefined)
            adoptContent(draft, { name, siteId: site.id, items });
      });
    },
    declaredBy: declared.by,
    running,
    export: async (names, site, grant, reveals) => {
      const place = site === "" ? "" : (await siteNamed(site)).id;
      const mounts =
        names.length === 0
          ? [...all().values()].filter(allowed(grant))
          : names.map((name) => need(grant)(all().get(name), name));
      const hides = (driver: string, item: string) => !reveals && isSecret(driver, item);
      return writeDocument(mounts, place, deps.sites.names(), driverOf, hides);
    },
    watch: feed.watch,
    declare: async (inputs, origin, by, { dryRun = false } = {}) => {
      const rules = rulesOf({ grant: ROOT, origin }, { allowShared: true });
      const change = () =>
        ledger.change(
          origin,
          async (draft) => {
            const mounts = draftMounts(draft);
            const whole = inputs.map((input) =>
              wholeInput(input, mounts.get(input.name), rules.sites),
            );
            await decideSave(draft, whole, mounts, {
              ...rules,
              isWhole: true,
              managedBy: () => undefined,
            });
          },
          { dryRun },
        );
      const names = inputs.map(({ name }) => name);
      await (dryRun ? change() : declared.replace(names, by, change));
    },
    affected: (before, after) => {
      const { contacted } = registry.site(after.id);
      if (isRunning(before, { contacted }) || !isRunning(after, { contacted })) return [];
      return effectsOfFollowing(after, all(), registry.mounts(after.id)).map(
        ({ name, effects }) => ({ ...resultAs(name, "unchanged", ""), effects }),
      );
    },
    leave: async (site, origin, { dryRun }) => {
      const named = [...all().values()].filter((mount) => namesSite(mount, site.id));
      for (const { name } of named) guard(name);
      if (named.length === 0) return [];
      const { result } = await ledger.change(
        { ...origin, reason: `the site ${site.name} was removed` },
        (draft) =>
          named.flatMap(({ name }) => {
            const mount = draft.get(MOUNTS, name);
            if (mount === undefined || !namesSite(mount, site.id)) return [];
            const left = withoutSite(mount, site.id);
            const note = leftNote(left, deps.sites.names());
            draft.put(MOUNTS, left);
            return [{ ...resultAs(name, "changed", note), effects: [] }];
          }),
        { dryRun },
      );
      return result;
    },
    changed: () => changed(),
  };
}

/** States where a mount stays that has left a site. */
function leftNote(mount: Mount, names: SiteNames): Text {
  const sites = siteNamesOf(mount, names);
  if (sites === "all") return "";
  if (sites.length === 0) return message("MOUNT_ON_NO_SITE");
  return message("MOUNT_STAYS_ON", { sites: sites.join(", ") });
}

/** Reports whether a mount names a site: a mount of all sites does only with values for it. */
function namesSite({ siteIds, overrides }: Mount, siteId: string): boolean {
  return (siteIds !== "all" && siteIds.includes(siteId)) || Object.hasOwn(overrides, siteId);
}

/** Reports whether an input names sites. */
function namesSites({ sites, overrides = {} }: MountInput): boolean {
  return typeof sites === "object" || Object.keys(overrides).length > 0;
}

/** Maximum number of mounts in a request. */
const MAX_REQUEST = 500;
