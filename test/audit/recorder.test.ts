import { expect, test } from "vitest";
import { createRecorder } from "../../src/audit/recorder.ts";
import type { AuditEntry } from "../../src/audit/store.ts";
import { StoreError } from "../../src/database/error.ts";

const origin = {
  actor: "admin",
  transport: "rest",
  method: "ExportSettings",
  peer: "",
  requestId: "",
};
const done = { origin, subjects: [], detail: {} };

function recorder() {
  const rows: AuditEntry[] = [];
  const dropped: number[] = [];
  const state = { isAway: false };
  const made = createRecorder({
    store: {
      append: async (entries) => {
        if (state.isAway) throw new StoreError("failed", "the database is away");
        rows.push(...entries);
      },
    },
    now: () => 0,
    interval: 1e9,
    onError: (_error, count) => dropped.push(count),
  });
  return { made, rows, dropped, state };
}

test("a call that requires an audit row is refused while the row cannot be written", async () => {
  const { made, rows, state } = recorder();
  state.isAway = true;
  await expect(made.record({ ...done, isNeeded: true })).rejects.toThrow(
    /nothing was returned.*away/,
  );
  state.isAway = false;
  await made.record({ ...done, isNeeded: true });
  await made.close();
  expect(rows).toHaveLength(1);
});

test("other rows are written later, and only the newest of very many", async () => {
  const { made, rows, dropped, state } = recorder();
  state.isAway = true;
  for (let at = 0; at < 1_500; at += 1)
    await made.record({ ...done, detail: { at }, isNeeded: false });
  made.note({ origin, outcome: "OK" });
  await made.close();
  expect(rows).toEqual([]);
  state.isAway = false;
  await made.close();
  expect(rows).toHaveLength(1_000);
  expect(rows.at(-1)?.detail).toMatchObject({ count: 1 });
  expect(dropped.reduce((sum, count) => sum + count, 0)).toBe(501);
});

test("reads over the limit of an interval are written at once, each with its actor", async () => {
  const { made, rows } = recorder();
  const actors = Array.from({ length: 250 }, (_, at) => `p${at}/0123456789ab`);
  for (const actor of actors) made.note({ origin: { ...origin, actor }, outcome: "OK" });
  await expect.poll(() => rows.length).toBeGreaterThanOrEqual(200);
  await made.close();
  expect(rows.map(({ actor }) => actor)).toEqual(actors);
});

test("waiting refusals displace no rows of actions", async () => {
  const { made, rows, state } = recorder();
  state.isAway = true;
  await made.record({ ...done, detail: { first: true }, isNeeded: false });
  for (let at = 0; at < 1_500; at += 100) {
    for (let more = at; more < at + 100; more += 1)
      made.note({ origin: { ...origin, actor: `p${more}` }, outcome: "PERMISSION_DENIED" });
    await made.close();
  }
  state.isAway = false;
  await made.close();
  expect(rows).toHaveLength(1_000);
  expect(rows[0]?.detail).toEqual({ first: true });
});
