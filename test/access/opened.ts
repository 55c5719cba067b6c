import { randomBytes } from "node:crypto";
import { onTestFinished, vi } from "vitest";
import type { AccessCaller } from "../../src/access/change.ts";
import { type Grant, ROOT } from "../../src/access/grant.ts";
import { openAccessRegistry } from "../../src/access/registry.ts";
import { createAccessService } from "../../src/access/service.ts";
import type { AccessStore } from "../../src/access/store.ts";
import { Message } from "../../src/messages/message.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { allRows } from "../store/audit-contract.ts";
import { failureOf } from "../thrown.ts";

export const START = Date.UTC(2026, 0, 1);

/** Caller of a change of access. */
export const callerOf = (grant: Grant = ROOT, actor = "admin"): AccessCaller => ({
  actor,
  transport: "rest",
  method: "M",
  requestId: "r",
  peer: "::1",
  grant,
});

/** Code, id and parameters of the service error that a change rejects with. */
export async function refusalOf(change: Promise<unknown>) {
  const { code, text } = await failureOf(() => change);
  if (!(text instanceof Message)) throw new Error(`not a message: ${text}`);
  return { code, id: text.problem.id, parameters: text.problem.parameters };
}

/** Ids in ascending order. */
function countedBytes(): (size: number) => Buffer {
  let count = 0;
  return (size) => {
    if (size !== 9) return randomBytes(size);
    count += 1;
    const bytes = Buffer.alloc(size, 1);
    bytes.writeUInt8(count, 4);
    return bytes;
  };
}

/**
 * Principals and tokens in an in-memory database, on a clock that the test sets.
 *
 * @param tokenCount number of tokens that the database reports. Default: the actual number.
 */
export async function openedAccess(tokenCount?: () => Promise<number>) {
  const stores = await openSqliteStore(":memory:");
  onTestFinished(() => stores.close());
  const store: AccessStore =
    tokenCount === undefined
      ? stores.access
      : {
          ...stores.access,
          transact: (work) => stores.access.transact((trx) => work({ ...trx, tokenCount })),
        };
  const clock = { now: START };
  const registry = await openAccessRegistry({ store, now: () => clock.now });
  const changed = vi.fn(async () => undefined);
  const access = createAccessService({ store, registry, randomBytes: countedBytes(), changed });
  const audited = async () =>
    (await allRows(stores.audit)).map(({ subjects, detail }) => [subjects, JSON.parse(detail)]);
  return { access, store, registry, clock, changed, audited };
}
