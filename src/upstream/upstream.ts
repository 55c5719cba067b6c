import { doneEntry } from "../audit/entry.ts";
import type { AuditEntry } from "../audit/store.ts";
import type { RevisionOrigin } from "../ledger/store.ts";
import { waitAtMost } from "../pause.ts";
import { SETTINGS } from "../settings/kind.ts";
import { adoptValuesIn } from "../sites/settings/adoption.ts";
import { createSettingClient } from "../sites/settings/client.ts";
import type { SettingJob } from "../sites/settings/sync.ts";
import type { Site } from "../sites/site.ts";
import { isAnswering, type Sites, type SitesDeps } from "../sites/sites.ts";
import { createSiteClient } from "../sync/client.ts";
import { SiteFailure } from "../sync/failure.ts";
import { type Delivery, waitForDelivery } from "./delivery.ts";
import { createFirstContact, type FirstContact, type FirstContactDeps } from "./first-contact.ts";
import type { ForwardedChange } from "./forwarded-change.ts";
import { type ForwardedCall, forwardSettings, originOf } from "./forwarding.ts";
import { createKnownKeys, createOwnRows, type OwnRows } from "./own-rows.ts";
import { createSessions, type Sessions } from "./session.ts";
import { createUpstreamSite } from "./upstream-site.ts";

/** Name of changes of users, roles and shares on the upstream's own pages, in the audit. */
const CHANGE_METHOD = "ChangeUpstream";
/** Connections for reading identities and the upstream's own rows. */
const CONNECTIONS = 32;
/** Time limit of an availability check, in milliseconds. */
const PROBE_TIMEOUT = 500;
/** Maximum wait of a save for the upstream, in milliseconds. */
const PATIENCE = 1_000;
/** Maximum wait of a read for the upstream's own rows, in milliseconds. */
const OWN_ROWS_LIMIT = 1_000;

/** Forwards a change of records, and adopts the result as that of the origin. */
export type ForwardRecords = (
  site: Site,
  forward: () => Promise<void>,
  origin: RevisionOrigin,
) => Promise<void>;

export interface UpstreamDeps
  extends Pick<SitesDeps, "ledger" | "maxValueBytes" | "now" | "onEvent" | "times">,
    Pick<FirstContactDeps, "service" | "url" | "token" | "onAdopted" | "onNotice" | "onError"> {
  readonly sites: Sites;
  /** Name of the file that declares a setting; undefined: none. */
  readonly managedBy: (key: string) => string | undefined;
  /** Forwards a change of mounts, and adopts the result. */
  readonly forwardMounts: ForwardRecords;
  /** Forwards a change of folder rules, and adopts the result. */
  readonly forwardRules: ForwardRecords;
  /** Records a change in the audit. */
  readonly audit: (entry: AuditEntry) => Promise<void>;
}

/** The upstream: the one site that Mooring is in front of. */
export interface Upstream
  extends Pick<Sessions, "identify" | "forget">,
    Pick<FirstContact, "adminRequest"> {
  /** Whether its values were adopted; until then requests for them are forwarded. */
  isReady(): boolean;
  /** Its permanent token and version; empty: unknown. */
  token(): string;
  version(): string;
  /** Reports whether it lacks a setting that Mooring defines. */
  lacks(key: string): boolean;
  /** Object that changes when results of `lacks` may change. */
  known(): object;
  /** Values of settings that only the upstream has; shown unchanged. */
  readonly ownRows: OwnRows;
  /**
   * Waits until the upstream has accepted or refused a revision: up to a second, or ten if the upstream
   * checks one of the values. Undefined: it does not follow.
   */
  delivered(revision: number): Promise<Delivery | undefined>;
  /**
   * Checks whether it answers, and records a failure. Resolves within half a second; concurrent calls
   * share one check.
   */
  probe(): Promise<void>;
  /** Forwards a request that may change settings, and adopts the changes as this admin's. */
  forwardChange(forward: () => Promise<void>, by: ForwardedCall): Promise<void>;
  /** Like forwardChange, for changes of its mounts. */
  forwardMountChange(forward: () => Promise<void>, by: ForwardedCall): Promise<void>;
  /** Like forwardChange, for changes of its folder rules. */
  forwardRuleChange(forward: () => Promise<void>, by: ForwardedCall): Promise<void>;
  /** Records a change of users, roles or shares. @param code of the upstream's reply. */
  changeForwarded(change: ForwardedChange, by: ForwardedCall, code: number): Promise<void>;
  /** Stores a new permanent token. @param by undefined: unknown. */
  tokenReset(token: string, by: ForwardedCall | undefined): Promise<void>;
  /** Makes it connect a download manager. @throws SiteFailure. */
  connect(call: "set_aria2" | "set_qbit", body: object): Promise<void>;
  close(): void;
}

/** Contacts the upstream in the background, with retries until the first success. */
export function startUpstream(deps: UpstreamDeps): Upstream {
  const { sites, url, ledger, now, onError } = deps;
  const { patience = PATIENCE, ownRows: ownRowsAge } = deps.times ?? {};
  const { registry, settings } = sites;
  const client = createSiteClient({ url, token: "", ca: "", pin: "" }, CONNECTIONS);
  const sessions = createSessions(client, now);
  const upstream = createUpstreamSite(registry, now);
  const adopt = (job: SettingJob, origin: RevisionOrigin, onlyDrifted: boolean) =>
    adoptValuesIn(
      job,
      { ...deps, registry },
      { keys: [], dryRun: false, origin, reveals: true, onlyDrifted },
    );
  const contact = createFirstContact({
    ...deps,
    upstream,
    client,
    identify: sessions.identify,
    adopt,
  });
  const knownKeys = createKnownKeys(() => registry.state(upstream.find()?.id ?? "").known);
  const readOwnRows = () => {
    const token = upstream.find()?.token ?? "";
    return createSettingClient(client).list({
      headers: { authorization: token },
      secrets: [token],
      limit: OWN_ROWS_LIMIT,
    });
  };
  contact.start();
  const forwardRecords =
    (noun: string, adoptForwarded: ForwardRecords): Upstream["forwardMountChange"] =>
    async (forward, by) => {
      const site = upstream.find();
      if (site === undefined) return forward();
      const reason = `${by.call} of ${noun} at the upstream`;
      await adoptForwarded(site, forward, { ...originOf(by), reason });
    };

  return {
    isReady: () => {
      const site = upstream.find();
      return site !== undefined && registry.state(site.id).appliedRevision > 0;
    },
    token: () => upstream.find()?.token ?? "",
    version: () => registry.state(upstream.find()?.id ?? "").version,
    lacks: (key) =>
      !knownKeys().has(key) && ledger.snapshot().get(SETTINGS, key)?.definition !== undefined,
    known: knownKeys,
    ownRows: createOwnRows(readOwnRows, now, ownRowsAge),
    identify: sessions.identify,
    forget: sessions.forget,
    adminRequest: (authorization, clientId) => contact.adminRequest(authorization, clientId),
    delivered: async (revision) => {
      const contacting = contact.inProgress();
      if (contacting !== undefined) await waitAtMost(patience, contacting);
      const site = upstream.find();
      if (site === undefined || site.mode !== "follow" || site.paused) return undefined;
      return waitForDelivery({ sites, ledger, now, patience, onError }, site, revision);
    },
    probe: createProbe(deps, upstream.find),
    forwardChange: async (forward, by) => {
      const site = upstream.find();
      if (site === undefined || registry.state(site.id).appliedRevision === 0) return forward();
      await forwardSettings({ settings, adopt, onError }, site, forward, by);
    },
    forwardMountChange: forwardRecords("mounts", deps.forwardMounts),
    forwardRuleChange: forwardRecords("folder rules", deps.forwardRules),
    changeForwarded: async ({ call, subject, detail }, by, code) => {
      const name = upstream.find()?.name ?? "";
      const subjects = [name, subject].filter((text) => text !== "");
      const origin = { ...originOf(by), method: CHANGE_METHOD };
      const entry = doneEntry(origin, now(), subjects, { call, ...detail });
      const outcome = code === 200 ? entry.outcome : "FAILED_PRECONDITION";
      // The upstream has made the change: it is passed on even if it cannot be recorded.
      await deps.audit({ ...entry, outcome }).catch(onError);
    },
    tokenReset: (token, by) => upstream.setToken(token, by && originOf(by)),
    connect: async (call, body) => {
      const site = upstream.find();
      if (site === undefined) return;
      const secrets = Object.values(body).filter((value) => typeof value === "string");
      await settings.exclusive(site.id, ({ client }) =>
        client.call("POST", `/api/admin/setting/${call}`, body, { secrets, limit: 60_000 }),
      );
    },
    close: () => {
      contact.close();
      client.close();
    },
  };
}

/** Availability check of the upstream; concurrent calls share one. */
function createProbe(
  { sites: { registry, settings }, onError }: Pick<UpstreamDeps, "sites" | "onError">,
  find: () => Site | undefined,
): () => Promise<void> {
  let running: Promise<void> | undefined;
  const probeOnce = async (): Promise<void> => {
    const site = find();
    const isKnownToFail = site === undefined || registry.state(site.id).error !== undefined;
    if (isKnownToFail || site.paused || (await isAnswering(site, PROBE_TIMEOUT))) return;
    await settings.round(site, { aim: "read", actor: "sites" }).catch((error: unknown) => {
      if (!(error instanceof SiteFailure)) throw error;
    });
  };
  return async () => {
    running ??= probeOnce().finally(() => {
      running = undefined;
    });
    await waitAtMost(PROBE_TIMEOUT, running.catch(onError));
  };
}
