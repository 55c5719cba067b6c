import { onTestFinished } from "vitest";
import { type AuditQuery, createAuditService } from "../../src/audit/service.ts";
import type { AuditEntry, AuditStore } from "../../src/audit/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { entry } from "../store/audit-contract.ts";

interface OpenedOptions {
  readonly idle?: number;
  readonly interval?: number;
  /** Replaces methods of the service's store. */
  readonly wrap?: (store: AuditStore) => Partial<AuditStore>;
}

/** A service on rows of its own, whose watchers are notified without delay. */
export async function opened(
  rows: readonly Partial<AuditEntry>[] = [],
  { idle = 1e6, interval = 5, wrap = () => ({}) }: OpenedOptions = {},
) {
  const { audit: store, close } = await openSqliteStore(":memory:");
  await store.append(rows.map(entry));
  const service = createAuditService({
    store: { ...store, ...wrap(store) },
    now: () => 5_000,
    interval,
    idle,
  });
  onTestFinished(async () => {
    service.endStreams();
    await close();
  });
  /** Watches rows after a place. Default: after the newest row. */
  const watch = (
    after?: Parameters<typeof service.watch>[1],
    filter: Pick<AuditQuery, "methods"> = {},
    { signal } = new AbortController(),
  ) => service.watch(filter, after, signal)[Symbol.asyncIterator]();
  return { store, service, watch };
}
