import { setTimeout as sleep } from "node:timers/promises";
import { type AuditOrigin, doneEntry } from "../audit/entry.ts";
import { message } from "../messages/message.ts";
import { waitAtMost } from "../pause.ts";
import type { RevisionOrigin } from "../settings/store.ts";
import { createSiteClient, readPermanentToken } from "../sites/client.ts";
import { SiteFailure } from "../sites/failure.ts";
import { keyPolicyOf } from "../sites/key-policy.ts";
import { answers } from "../sites/probe.ts";
import { addressOf, changedMembers } from "../sites/registry.ts";
import type { Site, TakenBack } from "../sites/site.ts";
import type { Sites, SitesDeps } from "../sites/start.ts";
import { takeValuesIn } from "../sites/take.ts";
import type { Turn } from "../sites/worker.ts";
import { createKnownKeys, createOwnRows, type OwnRows } from "./own-rows.ts";
import { createSessions, type Sessions, VISITOR_ACTOR, type Visitor } from "./session.ts";

/** Connections for reading identities. */
const QUESTIONS = 32;
/** Maximum wait of a forwarded change for earlier work on the site, in milliseconds. */
const TURN = 5_000;
/** Time limit of an availability check, in milliseconds. */
const PROBE_TIMEOUT = 500;
/** Maximum wait of a save for the upstream, in milliseconds. */
const PATIENCE = 1_000;
/**
 * Maximum wait for values that the upstream checks, whose refusal is reported to the caller, in
 * milliseconds.
 */
const CHECKED_PATIENCE = 10_000;
/** Maximum wait of a read for the upstream's own rows, in milliseconds. */
const OWN_ROWS_LIMIT = 1_000;
/** First and longest pause between attempts of the first contact, in milliseconds. */
const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 5_000;

export interface UpstreamDeps
  extends Pick<SitesDeps, "engine" | "managedBy" | "maxValueBytes" | "now" | "onEvent" | "times"> {
  readonly sites: Sites;
  readonly url: string;
  /** The upstream's permanent token; undefined: read with the login of the first admin. */
  readonly token: string | undefined;
  /** Called at each start when its values were adopted, so that it can follow. */
  readonly onMet: () => void;
  /** Forwards a change of mounts, and adopts the result. */
  readonly passMounts: (
    site: Site,
    pass: () => Promise<void>,
    origin: RevisionOrigin,
  ) => Promise<void>;
  /** Called with the obstacle to first contact, and when it has succeeded. */
  readonly onNotice: (message: string) => void;
  readonly onError: (error: unknown) => void;
}

/** A value that the upstream refused, and that Mooring therefore does not keep. */
export interface UpstreamRefusedValue extends TakenBack {
  readonly key: string;
}

/**
 * Delivery of a change to the upstream at the time of the reply. `pending`: not known yet; it is
 * settled in the background by reading the upstream's values.
 */
type Delivery =
  | { readonly outcome: "applied" | "pending" }
  | { readonly outcome: "refused"; readonly refusals: readonly UpstreamRefusedValue[] };

/** Forwarded request of an admin of the upstream, for history and audit. */
interface PassedCall {
  /** Name of the admin. */
  readonly visitor: string;
  /** The last part of its path, such as `set_transmission`. */
  readonly call: string;
  readonly requestId: string;
  /** The client's address, without port. */
  readonly peer: string;
}

/** The upstream: the one site that Mooring is in front of. */
export interface Upstream {
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
  identify(authorization: string, clientId: string | undefined): Visitor | Promise<Visitor>;
  /**
   * Drops cached identities after a sign-out or a change of rights (all), or a sign-in
   * (refused).
   */
  forget(whom?: "all" | "refused"): void;
  /** Called for a request of a possible admin: the first one is used to read the token. */
  adminRequest(authorization: string, clientId: string | undefined): void;
  /**
   * Waits until the upstream has accepted or refused a revision: up to a second, or ten if the upstream
   * checks one of the values. Undefined: it does not follow.
   */
  delivered(revision: number): Promise<Delivery | undefined>;
  /**
   * Checks whether it answers, and records a failure. Resolves within half a second; concurrent calls
   * share one check.
   */
  look(): Promise<void>;
  /** Forwards a change of settings, and adopts the result as the visitor's change. */
  changing(pass: () => Promise<void>, by: PassedCall): Promise<void>;
  /** Like changing, for a change of its mounts. */
  changingMounts(pass: () => Promise<void>, by: PassedCall): Promise<void>;
  /** Stores a new permanent token. @param by undefined: unknown. */
  tokenReset(token: string, by: PassedCall | undefined): Promise<void>;
  /** Makes it connect a download manager. @throws SiteFailure. */
  connect(call: "set_aria2" | "set_qbit", body: object): Promise<void>;
  close(): void;
}

const ORIGIN: RevisionOrigin = {
  actor: "sites",
  transport: "upstream",
  method: "AdoptSite",
  requestId: "",
  peer: "",
  reason: "values of the upstream",
};

const UPDATE: AuditOrigin = { ...ORIGIN, method: "UpdateSite" };

/** Contacts the upstream in the background, with retries until the first success. */
export function startUpstream(deps: UpstreamDeps): Upstream {
  const { sites, url, engine, now, onNotice, onError } = deps;
  const { patience = PATIENCE } = deps.times ?? {};
  const { registry, workers } = sites;
  const access = { url, token: "", ca: "", pin: "" };
  const asking = createSiteClient(access, QUESTIONS);
  const sessions: Sessions = createSessions(asking, now);
  const ownRows = createOwnRows(
    () =>
      asking.list({
        headers: { authorization: mine()?.token ?? "" },
        secrets: [mine()?.token ?? ""],
        limit: OWN_ROWS_LIMIT,
      }),
    now,
    deps.times?.ownRows,
  );
  const knownKeys = createKnownKeys(() => registry.state(mine()?.id ?? "").known);
  const stopping = new AbortController();
  const mine = (): Site | undefined => registry.sites().find((site) => site.upstream);
  let meeting: Promise<unknown> | undefined;
  /** First contact in progress; afterwards the site follows. */
  let settling: Promise<unknown> | undefined;
  const take = (turn: Turn, origin: RevisionOrigin, onlyDrifted: boolean) =>
    takeValuesIn(
      turn,
      { ...deps, registry },
      {
        keys: [],
        dryRun: false,
        origin,
        reveals: true,
        onlyDrifted,
      },
    );
  /** Changes members of a site, and audits those that differ. */
  const change = (id: string, members: Partial<Site>, origin: AuditOrigin = UPDATE) =>
    registry.change(
      id,
      (site) => ({ ...site, ...members }),
      (before, after) => [
        doneEntry(origin, now(), [before.name], { changed: changedMembers(before, after) }),
      ],
    );

  /**
   * Creates the site if there is none and adopts its values: all values at first contact, later
   * those that were changed while no process followed. Afterwards the site follows.
   *
   * @param token a new one; empty: the stored one.
   */
  const settle = (token: string): Promise<void> => {
    const work = settleNow(token);
    const quiet = work
      .catch(() => undefined)
      .finally(() => {
        if (settling === quiet) settling = undefined;
      });
    settling = quiet;
    return work;
  };
  const settleNow = async (token: string): Promise<void> => {
    const { id, paused } = await claim(token);
    // An operator has paused the site.
    if (paused) return deps.onMet();
    const isNew = registry.state(id).appliedRevision === 0;
    await workers.alone(id, (turn) => take(turn, ORIGIN, !isNew));
    if (isNew) await change(id, { mode: "follow" });
    // Before the first site no process takes the lease: without this, saves wait for the next beat.
    await sites.beat();
    // Cached public replies contain the old version.
    engine.touch();
    deps.onMet();
    // Pushes changes that were saved meanwhile.
    if (sites.isLeader()) void sites.follow(id).catch(onError);
    if (isNew) onNotice("the upstream's settings were adopted; it follows from now on");
  };
  const claim = async (token: string): Promise<Site> => {
    await registry.load();
    const address = addressOf(url);
    const known = mine();
    const same = registry.sites().find((site) => addressOf(site.url) === address);
    if (known !== undefined && known !== same) await change(known.id, { upstream: false });
    if (same !== undefined) {
      if (same.upstream && token === "" && same.url === url) return same;
      await change(same.id, { url, upstream: true, ...(token !== "" && { token }) });
      await registry.clearError(same.id);
      return same;
    }
    if (token === "") throw new SiteFailure("unauthorized", message("SITE_TOKEN_UNKNOWN"));
    await sites.service.create(
      { name: freeName(), url, token },
      { ...ORIGIN, method: "CreateSite" },
    );
    const made = registry.sites().find((site) => addressOf(site.url) === address);
    if (made === undefined) throw new SiteFailure("refused", message("SITE_GONE"));
    await change(made.id, { upstream: true });
    return made;
  };
  const freeName = (): string => {
    const taken = new Set(registry.sites().map(({ name }) => name));
    return (
      ["upstream", "upstream-2", "upstream-3"].find((name) => !taken.has(name)) ??
      `upstream-${now()}`
    );
  };

  let looking: Promise<void> | undefined;
  const lookOnce = async (): Promise<void> => {
    const site = mine();
    const isKnownToFail = site === undefined || registry.state(site.id).error !== undefined;
    if (isKnownToFail || site.paused || (await answers(site, PROBE_TIMEOUT))) return;
    await workers.round(site, { aim: "look", actor: "sites" }).catch((error: unknown) => {
      if (!(error instanceof SiteFailure)) throw error;
    });
  };

  const begin = async (): Promise<void> => {
    let said = "";
    for (let tries = 0; !stopping.signal.aborted; tries += 1) {
      try {
        return await settle("").catch((error: unknown) => {
          // The stored token may be newer than the configured one, after a reset through Mooring.
          const isRefused = error instanceof SiteFailure && error.kind === "unauthorized";
          if (!isRefused || deps.token === undefined) throw error;
          return settle(deps.token);
        });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (message !== said)
          onNotice(`requests for settings are still forwarded to the upstream: ${message}`);
        said = message;
        // Without a token no attempt is possible before the first admin calls.
        if (deps.token === undefined && mine() === undefined) return;
      }
      const pause = Math.min(FIRST_PAUSE * 2 ** Math.min(tries, 10), LONGEST_PAUSE);
      await sleep(pause, undefined, { signal: stopping.signal, ref: false }).catch(() => undefined);
    }
  };
  void begin().catch(onError);

  return {
    isReady: () => {
      const site = mine();
      return site !== undefined && registry.state(site.id).appliedRevision > 0;
    },
    token: () => mine()?.token ?? "",
    version: () => registry.state(mine()?.id ?? "").version,
    lacks: (key) => !knownKeys().has(key) && engine.snapshot().get(key)?.definition !== undefined,
    known: knownKeys,
    ownRows,
    identify: sessions.identify,
    forget: sessions.forget,
    adminRequest: (authorization, clientId) => {
      const site = mine();
      const known = site !== undefined && registry.state(site.id);
      const isNeeded =
        known === false || known.appliedRevision === 0 || known.error?.kind === "unauthorized";
      if (!isNeeded || meeting !== undefined || authorization === "") return;
      meeting = (async () => {
        const visitor = await sessions.identify(authorization, clientId);
        if (visitor.kind !== "admin") return;
        const token = await readPermanentToken(asking, authorization, clientId);
        if (token !== "") await settle(token);
      })()
        .catch((error: unknown) => {
          onNotice(
            `the upstream's settings cannot be adopted: ${error instanceof Error ? error.message : ""}`,
          );
        })
        .finally(() => {
          meeting = undefined;
        });
    },
    delivered: async (revision) => {
      if (settling !== undefined) await waitAtMost(patience, settling);
      const site = mine();
      if (site === undefined || site.mode !== "follow" || site.paused) return undefined;
      const isThere = (): boolean => registry.state(site.id).appliedRevision >= revision;
      const isChecked = Array.from(engine.snapshot().items()).some(
        (item) => item.revision === revision && keyPolicyOf(item.key).alone,
      );
      const began = now();
      // Waits less for an upstream that does not answer.
      const left = (): number =>
        began +
        (isChecked && registry.state(site.id).error === undefined ? CHECKED_PATIENCE : patience) -
        now();
      if (sites.isLeader()) void sites.follow(site.id).catch(onError);
      while (!isThere() && left() > 0) {
        await changed(registry, sites.isLeader() ? left() : Math.min(30, left()));
        if (!sites.isLeader()) await registry.load();
      }
      if (!isThere()) return { outcome: "pending" };
      const refusals = Object.entries(registry.state(site.id).takenBack)
        .filter(([, refusal]) => refusal.revision === revision)
        .map(([key, refusal]) => ({ key, ...refusal }));
      return refusals.length > 0 ? { outcome: "refused", refusals } : { outcome: "applied" };
    },
    look: async () => {
      looking ??= lookOnce().finally(() => {
        looking = undefined;
      });
      await waitAtMost(PROBE_TIMEOUT, looking.catch(onError));
    },
    changing: async (pass, by) => {
      const site = mine();
      if (site === undefined || registry.state(site.id).appliedRevision === 0) return pass();
      let passed: Promise<void> | undefined;
      const turn = workers
        .alone(site.id, async (own) => {
          // Earlier changes there do not belong to this visitor.
          await take(own, ORIGIN, true).catch((error: unknown) => {
            if (!(error instanceof SiteFailure)) throw error;
          });
          // Already forwarded after the maximum wait: only its result is adopted.
          passed ??= pass();
          await passed;
          await take(own, { ...originOf(by), reason: `${by.call} at the upstream` }, true);
        })
        .catch((error: unknown) => {
          if (!(error instanceof SiteFailure)) onError(error);
        });
      await waitAtMost(TURN, turn);
      passed ??= pass();
      await passed;
    },
    changingMounts: async (pass, by) => {
      const site = mine();
      if (site === undefined) return pass();
      const reason = `${by.call} of mounts at the upstream`;
      await deps.passMounts(site, pass, { ...originOf(by), reason });
    },
    tokenReset: async (token, by) => {
      const site = mine();
      if (site === undefined) return;
      const origin: AuditOrigin =
        by === undefined ? UPDATE : { ...originOf(by), method: UPDATE.method };
      await change(site.id, { token }, origin);
      await registry.clearError(site.id);
    },
    connect: async (call, body) => {
      const site = mine();
      if (site === undefined) return;
      const secrets = Object.values(body).filter((value) => typeof value === "string");
      await workers.alone(site.id, ({ client }) =>
        client.call("POST", `/api/admin/setting/${call}`, body, { secrets, limit: 60_000 }),
      );
    },
    close: () => {
      stopping.abort();
      asking.close();
    },
  };
}

/** Origin of changes by a forwarded request; they are adopted as by AdoptSite. */
function originOf({ visitor, requestId, peer }: PassedCall): AuditOrigin {
  return {
    actor: `${VISITOR_ACTOR}${visitor}`,
    transport: "rest",
    method: "AdoptSite",
    requestId,
    peer,
  };
}

/** Resolves when a site or its state changes, or after `ms` milliseconds. */
async function changed(registry: Sites["registry"], ms: number): Promise<void> {
  let end = (): void => {};
  const change = new Promise<void>((resolve) => {
    end = registry.onChange(resolve);
  });
  await waitAtMost(ms, change);
  end();
}
