import { randomBytes } from "node:crypto";
import { createAccessPart } from "../access/archive/part.ts";
import {
  type Authentication,
  type CallerSource,
  createAuthentication,
} from "../access/authenticate.ts";
import { createChange } from "../access/change.ts";
import { startDeletion } from "../access/deletion.ts";
import { type ExpiryNoticeDeps, startExpiryNotice } from "../access/expiry.ts";
import { ADMIN_NAME, type Caller, ROOT } from "../access/grant.ts";
import { createLastUse } from "../access/last-use.ts";
import { type AccessRegistry, openAccessRegistry } from "../access/registry.ts";
import { type AccessService, createAccessService } from "../access/service.ts";
import type { AccessStore } from "../access/store.ts";
import type { Throttle } from "../access/throttle.ts";
import { isWellFormed, TOKEN_PREFIX } from "../access/token-text.ts";
import type { StorePart } from "../archive/part.ts";
import { actorOf } from "../audit/entry.ts";
import { StoreError } from "../database/error.ts";
import { oncePerTick } from "../database/replica.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { LedgerStore } from "../ledger/store.ts";
import type { Localize } from "../messages/localize.ts";
import { startPeriodic } from "../periodic.ts";
import { SETTINGS } from "../settings/kind.ts";
import { createTokenComparison, TOKEN_KEY } from "../settings/token.ts";
import type { Logger } from "../telemetry/log.ts";
import { admitVisitor } from "../upstream/interceptor.ts";
import type { Upstream } from "../upstream/upstream.ts";

/** Interval in which open streams of the upstream's admins are checked, in milliseconds. */
const SESSION_INTERVAL = 3_000;
/** Interval in which open streams are checked for an expired right, in milliseconds. */
const EXPIRY_INTERVAL = 500;
/** Interval in which last uses of tokens are written, in milliseconds. */
const LAST_USE_INTERVAL = 60_000;
/** Interval of checks for tokens to delete, in milliseconds. */
const DELETION_INTERVAL = 600_000;
/** Interval in which changes of other processes are read without a call, in milliseconds. */
const REFRESH_INTERVAL = 100;

export interface AccessParts {
  readonly ledger: Ledger;
  readonly store: {
    readonly access: AccessStore;
    readonly tryAcquireJobSlot: LedgerStore["tryAcquireJobSlot"];
    onNews(listener: () => void): void;
  };
  /** The upstream, whose admins are admitted too; it is opened after the access. */
  readonly upstream: Pick<Upstream, "identify"> | undefined;
  readonly throttle: Throttle;
  readonly localize: Localize;
  readonly log: Logger;
  /** Retention of an ended token, in milliseconds. */
  readonly endedTokenAge: number;
}

/** Access of callers, from the database and the upstream. */
export interface OpenAccess {
  readonly authentication: Authentication;
  readonly manager: AccessService;
  /** Principals and tokens in archives. */
  readonly archivePart: StorePart;
  /** Ends the background jobs. */
  close(): Promise<void>;
}

/** Reads principals and tokens, and checks periodically for ended rights. */
export async function openAccess({
  ledger,
  store,
  upstream,
  throttle,
  localize,
  log,
  endedTokenAge,
}: AccessParts): Promise<OpenAccess> {
  const lastUse = createLastUse(store.access, {
    interval: LAST_USE_INTERVAL,
    onError: (error) => log.warn({ err: error }, "failed to write the last use of tokens"),
  });
  const registry = await openAccessRegistry({
    store: store.access,
    now: Date.now,
    used: lastUse.note,
  });
  const authentication = createAuthentication(
    callerSource(ledger, registry, upstream),
    throttle,
    localize,
  );
  const rights = watchRights({ ledger, registry, authentication, upstream, log });
  store.onNews(rights.check);
  const manager = createAccessService({
    store: store.access,
    registry,
    randomBytes,
    changed: rights.check,
  });
  const expiryNotice = startExpiryNotice({
    store,
    expiring: manager.expiringTokens,
    now: registry.now,
    notice: noticeIn(log),
    onError: (error) => log.warn({ err: error }, "failed to report tokens that expire soon"),
  });
  const deletion = startDeletion({
    store: store.access,
    registry,
    tryAcquireJobSlot: store.tryAcquireJobSlot,
    age: endedTokenAge,
    interval: DELETION_INTERVAL,
    now: Date.now,
    onError: (error) => log.warn({ err: error }, "failed to delete ended tokens"),
  });
  return {
    authentication,
    manager,
    archivePart: createAccessPart({
      registry,
      randomBytes,
      change: createChange({ store: store.access, registry, changed: rights.check }),
    }),
    close: async () => {
      // A read in progress must end before the database is closed.
      await Promise.all([rights.stop(), expiryNotice(), deletion.stop()]);
      await lastUse.close();
    },
  };
}

/** Logs tokens that expire soon. */
function noticeIn(log: Logger): ExpiryNoticeDeps["notice"] {
  return (tokens, count) =>
    log.warn(
      {
        count,
        tokens: tokens.map(
          ({ principal, tokenId, until }) =>
            `${actorOf(principal, tokenId)} until ${new Date(until).toISOString()}`,
        ),
      },
      "tokens expire soon: mooring token rotate creates a successor",
    );
}

/**
 * Ends open streams whose right has ended: by a change of any process, by its time, or, for admins of
 * the upstream, by their logout.
 *
 * @returns `check`, which looks for changes now.
 */
function watchRights({
  ledger,
  registry,
  authentication,
  upstream,
  log,
}: Pick<AccessParts, "ledger" | "upstream" | "log"> & {
  readonly registry: AccessRegistry;
  readonly authentication: Authentication;
}): { check(): Promise<void>; stop(): Promise<void> } {
  const rightsVersion = (): string =>
    `${registry.readings()} ${ledger.snapshot().get(SETTINGS, TOKEN_KEY)?.value ?? ""}`;
  let rights = rightsVersion();
  const checkRights = async (): Promise<void> => {
    await refresh(ledger, log);
    await registry.fresh();
    const now = rightsVersion();
    if (now === rights) return;
    await authentication.recheck();
    rights = now;
  };
  // Failed reads are repeated the next time; the store reports an unavailable database.
  const onError = (): void => undefined;
  const rightsJob = startPeriodic(checkRights, { interval: REFRESH_INTERVAL, onError });
  const jobs = [
    rightsJob,
    // Rights also expire.
    startPeriodic(() => authentication.expire(registry.now()), {
      interval: EXPIRY_INTERVAL,
      onError,
    }),
  ];
  // The upstream does not report the end of a login; it must be asked.
  if (upstream !== undefined)
    jobs.push(startPeriodic(authentication.recheck, { interval: SESSION_INTERVAL, onError }));
  return {
    check: rightsJob.run,
    stop: async () => {
      await Promise.all(jobs.map((job) => job.stop()));
    },
  };
}

async function refresh(ledger: Ledger, log: Logger): Promise<void> {
  try {
    await ledger.fresh();
  } catch (error) {
    // The store reports an unavailable database itself.
    if (error instanceof Error && error.cause instanceof StoreError) return;
    log.error({ err: error }, "the database's changes cannot be read");
  }
}

/** Caller with the permanent token. */
const ADMIN: Caller = { name: ADMIN_NAME, tokenId: "", grant: ROOT };

/**
 * Identifies tokens: tokens of principals by the registry, the permanent token at the newest revision of
 * any process, other tokens by the upstream. A token with a wrong checksum is not looked up.
 */
export function callerSource(
  ledger: Pick<Ledger, "freshUnshared" | "snapshot">,
  registry: Pick<AccessRegistry, "fresh" | "find">,
  upstream: Pick<Upstream, "identify"> | undefined,
): CallerSource {
  const equals = createTokenComparison();
  // A permanent token may have the form of a principal's token.
  const admin = (sent: string): Caller | undefined =>
    equals(ledger.snapshot().get(SETTINGS, TOKEN_KEY)?.value ?? "", sent) ? ADMIN : undefined;
  return {
    // Refreshes both replicas: settings with the permanent token, and principals with their tokens.
    fresh: oncePerTick(() => {
      const readings = [ledger.freshUnshared(), registry.fresh()].filter(
        (reading) => reading !== undefined,
      );
      return readings.length === 0 ? undefined : Promise.all(readings);
    }),
    callerOf: (sent, call) => {
      if (isWellFormed(sent)) return registry.find(sent, () => call?.peer ?? "") ?? admin(sent);
      const caller = admin(sent);
      if (caller !== undefined) return caller;
      if (upstream === undefined || sent.startsWith(TOKEN_PREFIX)) return undefined;
      return admitVisitor(upstream.identify(sent, call?.header("client-id")));
    },
  };
}
