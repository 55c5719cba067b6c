import { pino } from "pino";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { keepAudit } from "../../src/app/audit.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { allRows, entry, expectChain } from "../store/audit-contract.ts";

beforeEach(
  () =>
    void vi.useFakeTimers({
      toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"],
    }),
);
afterEach(() => void vi.useRealTimers());

test("the background job deletes old rows by count and by age, and logs checkpoints", async () => {
  const store = await openSqliteStore(":memory:");
  onTestFinished(() => store.close());
  const lines: string[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) });
  const now = Date.now();
  const old = { time: now - 3_600_000 };
  await store.audit.append([
    ...Array.from({ length: 300 }, () => entry({ time: now })),
    ...Array.from({ length: 3 }, () => entry(old)),
    ...Array.from({ length: 7 }, () => entry({ time: now })),
  ]);
  const kept = keepAudit({ auditRows: 9, auditAgeMs: 60_000 }, { store, log });
  onTestFinished(kept.stop);
  await vi.advanceTimersByTimeAsync(65_000);
  const rows = await allRows(store.audit);
  expect(rows.map(({ seq }) => seq)).toEqual([304, 305, 306, 307, 308, 309, 310, 311, 312]);
  expectChain(rows, await store.audit.floor());
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { msg: "audit checkpoint", checkpoint: expect.stringMatching(/^\S+\n310\n\S{44}\n\S+Z\n$/) },
  ]);
  expect(kept.published()).toMatchObject({ seq: 310 });
  expect(kept.newest()).toBe(312);
});
