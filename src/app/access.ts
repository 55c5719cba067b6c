import { randomBytes } from "node:crypto";
import { createAccessService } from "../access/access.ts";
import { type Access, createAccess } from "../access/authenticate.ts";
import { startEndingNotice } from "../access/ending.ts";
import { startForgetting } from "../access/forget.ts";
import { createLastUse } from "../access/last-use.ts";
import { openAccessRegistry } from "../access/registry.ts";
import type { AccessManager } from "../access/rpc.ts";
import type { AccessStore } from "../access/store.ts";
import type { Throttle } from "../access/throttle.ts";
import { actorOf } from "../audit/entry.ts";
import { StoreError } from "../database/error.ts";
import type { Localize } from "../messages/localize.ts";
import { startPeriodic } from "../periodic.ts";
import type { Engine } from "../settings/engine.ts";
import type { SettingStore } from "../settings/store.ts";
import { TOKEN_KEY } from "../settings/token.ts";
import type { Upstream } from "../sites/upstream.ts";
import type { Logger } from "../telemetry/log.ts";
import { identityBy } from "./identity.ts";

/** Interval in which open streams of the upstream's admins are checked, in milliseconds. */
const SESSION_INTERVAL = 3_000;
/** Interval in which open streams are checked for an expired right, in milliseconds. */
const EXPIRY_INTERVAL = 500;
/** Interval in which last uses of tokens are written, in milliseconds. */
const LAST_USE_INTERVAL = 60_000;
/** Interval of checks for tokens to delete, in milliseconds. */
const FORGET_INTERVAL = 600_000;
/** Interval in which changes of other processes are read without a call, in milliseconds. */
const REFRESH_INTERVAL = 100;

export interface AccessParts {
  readonly engine: Engine;
  readonly store: {
    readonly access: AccessStore;
    readonly tryAcquireJobSlot: SettingStore["tryAcquireJobSlot"];
    onNews(listener: () => void): void;
  };
  /** The upstream, whose admins are admitted too. */
  readonly upstream: Upstream | undefined;
  readonly throttle: Throttle;
  readonly localize: Localize;
  readonly log: Logger;
  /** Retention of an ended token, in milliseconds. */
  readonly endedTokenAge: number;
}

/** Access of callers, from the database and the upstream. */
export interface OpenAccess {
  readonly authentication: Access;
  readonly manager: AccessManager;
  /** Ends the background jobs. */
  close(): Promise<void>;
}

/** Reads principals and tokens, and checks periodically for ended rights. */
export async function openAccess({
  engine,
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
  const authentication = createAccess(identityBy(engine, registry, upstream), throttle, localize);
  const rightsNow = (): string =>
    `${registry.readings()} ${engine.snapshot().get(TOKEN_KEY)?.value ?? ""}`;
  let rights = rightsNow();
  const look = async (): Promise<void> => {
    await refresh(engine, log);
    await registry.fresh();
    const now = rightsNow();
    if (now === rights) return;
    await authentication.recheck();
    rights = now;
  };
  // Failed reads are repeated the next time; the store reports an unavailable database.
  const onError = (): void => undefined;
  const looking = startPeriodic(look, { interval: REFRESH_INTERVAL, onError });
  store.onNews(looking.run);
  const jobs = [
    looking,
    // Rights also expire.
    startPeriodic(() => authentication.expire(registry.now()), {
      interval: EXPIRY_INTERVAL,
      onError,
    }),
  ];
  // The upstream does not report the end of a login; it must be asked.
  if (upstream !== undefined)
    jobs.push(startPeriodic(authentication.recheck, { interval: SESSION_INTERVAL, onError }));
  const manager = createAccessService({
    store: store.access,
    registry,
    randomBytes,
    changed: looking.run,
  });
  const endNotice = startEndingNotice({
    store,
    ending: manager.endingTokens,
    now: registry.now,
    notice: (tokens, count) =>
      log.warn(
        {
          count,
          tokens: tokens.map(
            ({ principal, tokenId, until }) =>
              `${actorOf(principal, tokenId)} until ${new Date(until).toISOString()}`,
          ),
        },
        "tokens expire soon: mooring token rotate creates a successor",
      ),
    onError: (error) => log.warn({ err: error }, "failed to report tokens that expire soon"),
  });
  const forgetting = startForgetting({
    ...{ store: store.access, registry, tryAcquireJobSlot: store.tryAcquireJobSlot },
    ...{ age: endedTokenAge, interval: FORGET_INTERVAL, now: Date.now },
    onError: (error) => log.warn({ err: error }, "failed to delete ended tokens"),
  });
  return {
    authentication,
    manager: { ...manager, endOf: registry.endOf },
    close: async () => {
      // A read in progress must end before the database is closed.
      await Promise.all([...jobs.map((job) => job.stop()), endNotice(), forgetting.stop()]);
      await lastUse.close();
    },
  };
}

async function refresh(engine: Engine, log: Logger): Promise<void> {
  try {
    await engine.fresh();
  } catch (error) {
    // The store reports an unavailable database itself.
    if (error instanceof Error && error.cause instanceof StoreError) return;
    log.error({ err: error }, "the database's changes cannot be read");
  }
}
