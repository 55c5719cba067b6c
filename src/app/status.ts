import type { Engine } from "../settings/engine.ts";
import type { SettingStore } from "../settings/store.ts";

/** One thing that the service needs to be ready, and what is wrong with it; undefined: nothing. */
export interface Check {
  readonly name: "start" | "store" | "catalogue" | "sites" | "draining";
  readonly problem?: string | undefined;
  /** What is to be said of it though it keeps nobody from being served. */
  readonly note?: string | undefined;
}

/** How a process is. */
export interface Status {
  /** Such as `v0.1.0`. */
  readonly version: string;
  /** Milliseconds since 1970 UTC. */
  readonly startTime: number;
  readonly revision: number;
  readonly settings: number;
  readonly drivers: number;
  /** As somebody would configure it. */
  readonly database: string;
  readonly databaseId: string;
  /** Open streams. */
  readonly watchers: number;
  readonly checks: readonly Check[];
}

export interface StatusService {
  /** What the service needs to be ready. Looked at once a second at most, however often it is asked. */
  checks(): Promise<readonly Check[]>;
  status(): Promise<Status>;
}

export interface StatusDeps {
  readonly store: Pick<SettingStore, "oldestRevision" | "databaseId" | "note">;
  readonly engine: Pick<Engine, "snapshot">;
  /** How many drivers are offered. */
  readonly drivers: () => number;
  /** How the sites are, in a few words; undefined: there are none. */
  readonly sites: () => Promise<string | undefined>;
  readonly watchers: () => number;
  readonly draining: () => boolean;
  readonly version: string;
  readonly database: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** How long an answer of the database stands, in milliseconds. */
const FRESH = 1_000;
/** How long the database may take to answer, in milliseconds. */
const PATIENCE = 2_000;

export function createStatusService(deps: StatusDeps): StatusService {
  const { store, engine, drivers, watchers, draining, version, database, now } = deps;
  const startTime = now();
  let looked = Number.NEGATIVE_INFINITY;
  let storeProblem: Promise<string | undefined> = Promise.resolve(undefined);
  const lookAtStore = (): Promise<string | undefined> => {
    if (now() - looked < FRESH) return storeProblem;
    looked = now();
    storeProblem = answersInTime(store.oldestRevision());
    return storeProblem;
  };
  const checks = async (): Promise<readonly Check[]> => {
    const [storeProblem, sites] = await Promise.all([lookAtStore(), deps.sites()]);
    return [
      { name: "store", problem: storeProblem, note: store.note() },
      { name: "catalogue", problem: drivers() > 0 ? undefined : "no driver is offered" },
      // The service answers whatever state its sites are in.
      ...(sites === undefined ? [] : [{ name: "sites" as const, note: sites }]),
      { name: "draining", problem: draining() ? "the service is told to stop" : undefined },
    ];
  };
  return {
    checks,
    status: async () => ({
      version,
      startTime,
      revision: engine.snapshot().revision,
      settings: engine.snapshot().size,
      drivers: drivers(),
      database,
      databaseId: store.databaseId,
      watchers: watchers(),
      checks: await checks(),
    }),
  };
}

/** The database's own words stay in the log. */
async function answersInTime(answer: Promise<unknown>): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve("the database does not answer"), PATIENCE);
  const read = answer.then(
    () => undefined,
    () => "the database cannot be read",
  );
  return Promise.race([read, late]).finally(() => clearTimeout(timer));
}
