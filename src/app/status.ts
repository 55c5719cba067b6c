import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetStatusResponseSchema,
  type StatusService as StatusServiceDesc,
} from "../../gen/mooring/v1/status_service_pb.js";
import type { ExpiringToken } from "../access/expiry.ts";
import { grantOf } from "../access/grant.ts";
import { StoreError } from "../database/error.ts";
import type { IncidentService } from "../incidents/service.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import type { LedgerStore } from "../ledger/store.ts";
import { hasCome } from "../periodic.ts";
import { SETTINGS } from "../settings/kind.ts";
import { rightsOfCaller } from "../settings/rights.ts";

/** Readiness check. `problem` is undefined if it passes. */
export interface Check {
  readonly name:
    | "start"
    | "store"
    | "catalogue"
    | "files"
    | "sites"
    | "upstream"
    | "backups"
    | "draining";
  readonly problem?: string | undefined;
  /** Note on a problem that does not prevent serving. */
  readonly note?: string | undefined;
  /** Part of the service that does not work, although the rest of it serves. */
  readonly degraded?: string | undefined;
}

/** Status of a process. */
export interface Status {
  /** Such as `v0.1.0`. */
  readonly version: string;
  /** Milliseconds since 1970 UTC. */
  readonly startTime: number;
  readonly revision: number;
  readonly settings: number;
  readonly drivers: number;
  /** In the notation of the configuration. */
  readonly database: string;
  readonly databaseId: string;
  /** Open streams. */
  readonly watchers: number;
  readonly checks: readonly Check[];
}

export interface StatusService {
  /** Checks of readiness, made once a second at most. */
  checks(): Promise<readonly Check[]>;
  status(): Promise<Status>;
}

export interface StatusDeps {
  readonly store: Pick<LedgerStore, "oldestRevision" | "databaseId" | "note" | "problem">;
  readonly ledger: Pick<Ledger, "snapshot">;
  /** Number of drivers. */
  readonly drivers: () => number;
  /** Summary of the sites; undefined: no sites. */
  readonly sites: () => Promise<string | undefined>;
  /** Summary of the backups; undefined: the service keeps none. */
  readonly backups?: (() => string | undefined) | undefined;
  /** Note on files of the deployment that are invalid now; undefined: none. */
  readonly files: () => string | undefined;
  /** Whether the upstream answers; undefined: there is none. Called after `sites`. */
  readonly upstreamAnswers: () => boolean | undefined;
  readonly watchers: () => number;
  readonly draining: () => boolean;
  readonly version: string;
  readonly database: string;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
}

/** Validity of an answer of the database, in milliseconds. */
const FRESH = 1_000;
/** Time limit for an answer of the database, in milliseconds. */
const PATIENCE = 2_000;

export function createStatusService(deps: StatusDeps): StatusService {
  const { store, ledger, drivers, watchers, draining, version, database, now } = deps;
  const startTime = now();
  let checkedAt = Number.NEGATIVE_INFINITY;
  let storeProblem: Promise<string | undefined> = Promise.resolve(undefined);
  const lookAtStore = (): Promise<string | undefined> => {
    if (!hasCome(checkedAt + FRESH, { now: now(), longest: FRESH })) return storeProblem;
    checkedAt = now();
    storeProblem = answersInTime(store.oldestRevision()).then(
      (problem) => problem ?? store.problem(),
    );
    return storeProblem;
  };
  const checks = async (): Promise<readonly Check[]> => {
    const [storeProblem, sites] = await Promise.all([lookAtStore(), deps.sites()]);
    const backups = deps.backups?.();
    const files = deps.files();
    const upstream = deps.upstreamAnswers();
    return [
      { name: "store", problem: storeProblem, note: store.note() },
      { name: "catalogue", problem: drivers() > 0 ? undefined : "no driver is offered" },
      // The last valid content applies.
      ...(files === undefined ? [] : [{ name: "files" as const, note: files }]),
      // The state of sites and backups does not affect readiness.
      ...(sites === undefined ? [] : [{ name: "sites" as const, note: sites }]),
      ...(backups === undefined ? [] : [{ name: "backups" as const, note: backups }]),
      ...(upstream === undefined
        ? []
        : [
            {
              name: "upstream" as const,
              degraded: upstream ? undefined : "the upstream does not answer",
            },
          ]),
      { name: "draining", problem: draining() ? "the service is stopping" : undefined },
    ];
  };
  return {
    checks,
    status: async () => ({
      version,
      startTime,
      revision: ledger.snapshot().revision,
      settings: ledger.snapshot().of(SETTINGS).size,
      drivers: drivers(),
      database,
      databaseId: store.databaseId,
      watchers: watchers(),
      checks: await checks(),
    }),
  };
}

/** Returns a fixed text: the database's own message is only logged. */
async function answersInTime(answer: Promise<unknown>): Promise<string | undefined> {
  const { promise: late, resolve } = Promise.withResolvers<string>();
  const timer = setTimeout(() => resolve("the database does not answer"), PATIENCE);
  const read = answer.then(
    () => undefined,
    () => "the database cannot be read",
  );
  return Promise.race([read, late]).finally(() => clearTimeout(timer));
}

/** Maximum number of tokens in a status. */
const MAX_NAMED = 20;

/** Source of StatusService. */
export interface StatusSource {
  readonly status: StatusService;
  readonly access: { expiringTokens(): readonly ExpiringToken[] };
  readonly settings: { snapshot(): Snapshot };
  readonly incidents: Pick<IncidentService, "list">;
}

/** The status is also needed while the database fails: its checks name the failure. */
function noneIfUnreadable(error: unknown): readonly [] {
  if (error instanceof StoreError) return [];
  throw error;
}

/** Maximum number of counted incidents. */
const MAX_INCIDENTS = 1_000;

/** Implements StatusService. */
export function statusImpl(source: StatusSource): ServiceImpl<typeof StatusServiceDesc> {
  const snapshot = (): Snapshot => source.settings.snapshot();
  return {
    getStatus: async (_request, context) => {
      const { isLimited, canReadItem } = rightsOfCaller(context, snapshot);
      const expiring = source.access.expiringTokens();
      const named = grantOf(context).has("tokens:manage") ? expiring.slice(0, MAX_NAMED) : [];
      const incidents = grantOf(context).has("incidents:read")
        ? await source.incidents.list({ open: true, limit: MAX_INCIDENTS }).catch(noneIfUnreadable)
        : [];
      const { startTime, revision, checks, ...status } = await source.status.status();
      return create(GetStatusResponseSchema, {
        ...status,
        startTime: timestampFromMs(startTime),
        processId: process.pid,
        revision: BigInt(revision),
        ...(isLimited
          ? { settings: [...snapshot().of(SETTINGS).items()].filter(canReadItem).length }
          : {}),
        openIncidentCount: incidents.length,
        expiringTokenCount: expiring.length,
        expiringTokens: named.map(({ principal, tokenId, until }) => ({
          principal,
          tokenId,
          expireTime: timestampFromMs(until),
        })),
        checks: checks.map(({ name, problem, degraded, note = "" }) => ({
          name,
          problem: problem ?? degraded ?? "",
          note,
        })),
      });
    },
  };
}
