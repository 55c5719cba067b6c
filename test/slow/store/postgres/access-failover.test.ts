import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openAccessRegistry } from "../../../../src/access/registry.ts";
import type { AccessRows, AccessStore, StoredToken } from "../../../../src/access/store.ts";
import { makeToken } from "../../../../src/access/token-text.ts";
import { postgresServer } from "../../../../src/database/postgres/server.ts";
import { openPostgresStore } from "../../../../src/store/postgres/store.ts";
import { samplePrincipal, sampleToken } from "../../../access/sample.ts";
import { needs } from "../../../downloaders/program.ts";
import { postgresProgram, standbyOfTest } from "../../../store/postgres/server.ts";
import { openSwitch } from "../../../store/postgres/switch.ts";

const hasPostgres = needs(postgresProgram("postgres"));
beforeEach((context) => hasPostgres(context));

const HALTED = { timeout: 60_000, interval: 20 };

async function opened(url: string) {
  const store = await openPostgresStore(postgresServer(url, "the-place"));
  onTestFinished(() => store.close());
  await store.load();
  return store;
}

test("a standby without the last changes of rights, which reuses their versions, has only its own rights", {
  timeout: 90_000,
}, async () => {
  const { primary, standby } = await standbyOfTest();
  const address = await openSwitch(primary.port);
  const store = await opened(`postgres://mooring@127.0.0.1:${address.port}/postgres`);
  const registry = await openAccessRegistry({ store: store.access, now: Date.now });
  const [before, lost, kept] = [newToken(), newToken(), newToken()];
  const write = (to: AccessStore, rows: Partial<AccessRows>) =>
    to.transact((trx) => trx.write({ ...rows, audit: [] }));
  const opens = async ({ text }: { readonly text: string }): Promise<boolean> => {
    await registry.fresh();
    return registry.find(text, () => "") !== undefined;
  };
  await write(store.access, { principals: [samplePrincipal()], tokens: [before.token] });
  await vi.waitFor(async () => {
    expect(await standby.query("select version from access_head")).toEqual([{ version: "1" }]);
  }, HALTED);
  await standby.kill("SIGINT");
  await write(store.access, { tokens: [lost.token] });
  await write(store.access, { tokens: [newToken().token] });
  expect([await opens(before), await opens(lost)]).toEqual([true, true]);
  await primary.kill("SIGKILL");
  await standby.start();
  await standby.promote();
  const other = await opened(standby.url());
  const ended = { ...before.token, revokedAt: 1, revokedBy: "x" };
  await write(other.access, { tokens: [ended] });
  await write(other.access, { tokens: [kept.token] });
  address.to(standby.port);
  await vi.waitFor(async () => {
    expect([await opens(before), await opens(lost), await opens(kept)]).toEqual([
      false,
      false,
      true,
    ]);
  }, HALTED);
  // Later changes are detected as usual.
  await write(other.access, { tokens: [{ ...kept.token, revokedAt: 1, revokedBy: "x" }] });
  await other.access.seenEverywhere(4);
  expect(await opens(kept)).toBe(false);
});

test("a change of rights at a promoted standby waits for leases of the old server", {
  timeout: 90_000,
}, async () => {
  const { primary, standby } = await standbyOfTest();
  const before = await opened(primary.url());
  await before.access.news(0);
  await vi.waitFor(() => expect(before.access.changedElsewhere()).toBe(false), HALTED);
  // The clock of leases stands still during the failover, for any duration.
  const time = performance.now();
  const clock = vi.spyOn(performance, "now").mockReturnValue(time);
  onTestFinished(() => clock.mockRestore());
  await primary.kill("SIGKILL");
  await standby.promote();
  const after = await opened(standby.url());
  await after.access.transact((trx) => trx.write({ tokens: [newToken().token], audit: [] }));
  const isAsking = after.access.seenEverywhere(1).then(() => before.access.changedElsewhere());
  await Promise.race([isAsking, sleep(500)]);
  clock.mockReturnValue(time + 1_001);
  expect(await isAsking).toBe(true);
});

function newToken(): { readonly token: StoredToken; readonly text: string } {
  const { id, hash, text } = makeToken(randomBytes);
  return { token: sampleToken({ id, hash }), text };
}
