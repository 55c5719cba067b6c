import { expect, onTestFinished, test } from "vitest";
import { startDeletion } from "../../src/access/deletion.ts";
import { openAccessRegistry } from "../../src/access/registry.ts";
import type { StoredToken } from "../../src/access/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { allRows } from "../store/audit-contract.ts";
import { samplePrincipal, sampleToken } from "./sample.ts";

const DAY = 86_400_000;
const HOUR = 3_600_000;
const AGE = 3 * DAY;
/** Time between two runs: more than the interval. */
const PAUSE = HOUR + 100;
const START = Date.UTC(2026, 0, 1);

const principal = (id: string, disabledAt: number | null = null) =>
  samplePrincipal({ id, name: `name-of-${id}`, createdAt: START, disabledAt });

const token = (id: string, more: Partial<StoredToken> = {}) =>
  sampleToken({ id: id.padEnd(12, "0"), hash: id, createdAt: START, ...more });

type Store = Awaited<ReturnType<typeof openSqliteStore>>;

async function storeOf(tokens: readonly StoredToken[]): Promise<Store> {
  const store = await openSqliteStore(":memory:");
  onTestFinished(() => store.close());
  const principals = [principal("p"), principal("gone", START + HOUR)];
  await store.access.transact((trx) => trx.write({ principals, tokens, audit: [] }));
  return store;
}

/** Deletion of ended tokens in several processes, on a clock that the test sets. */
async function forgetting(store: Store, { processes = 1 } = {}) {
  const clock = { now: START };
  const registry = await openAccessRegistry({ store: store.access, now: () => clock.now });
  const start = () =>
    startDeletion({
      store: store.access,
      registry,
      tryAcquireJobSlot: store.tryAcquireJobSlot,
      age: AGE,
      interval: HOUR,
      now: () => clock.now,
      onError: (error) => expect.unreachable(String(error)),
    });
  const jobs = Array.from({ length: processes }, start);
  const stop = async (): Promise<void> => {
    await Promise.all(jobs.map((job) => job.stop()));
  };
  onTestFinished(stop);
  const pass = async (hours: number): Promise<string[]> => {
    for (let hour = 0; hour < hours; hour += 1) {
      clock.now += PAUSE;
      await Promise.all(jobs.map((job) => job.run()));
    }
    return [...registry.tokens()].map(({ id }) => id.replace(/0+$/, "")).sort();
  };
  return { clock, pass, stop };
}

/** Number of runs until a token is deleted that ended before the first one. */
const RUNS = AGE / HOUR + 1;

test("a token is deleted long after its end, for any kind of end, with an audit row", async () => {
  const end = START + HOUR / 2;
  const store = await storeOf([
    token("holds"),
    token("expired", { expiresAt: end }),
    token("revoked", { revokedAt: end, revokedBy: "anna" }),
    token("both", { revokedAt: end, revokedBy: "anna", expiresAt: end, notAfter: end }),
    token("replaced", { notAfter: end, replacedBy: "holds0000000", expiresAt: end + DAY }),
    token("disabled", { principalId: "gone" }),
    token("later", { expiresAt: START + 2 * DAY }),
  ]);
  await store.access.recordUses([{ tokenId: "revoked00000", time: START, peer: "::1" }]);
  const { pass } = await forgetting(store);
  const all = ["both", "disabled", "expired", "holds", "later", "replaced", "revoked"];
  expect(await pass(RUNS - 1)).toEqual(all);
  expect(await pass(1)).toEqual(["holds", "later"]);
  expect(await store.access.uses(["revoked00000"])).toEqual([]);
  const rows = await allRows(store.audit);
  const entries = rows.map(({ actor, method, outcome, subjects, detail }) => ({
    actor,
    method,
    outcome,
    subjects,
    ...JSON.parse(detail),
  }));
  const row = (subject: string, by: string, time: number) => ({
    actor: "mooring",
    method: "forget",
    outcome: "OK",
    subjects: [subject],
    by,
    ended: new Date(time).toISOString(),
  });
  expect(entries).toHaveLength(5);
  expect(entries).toEqual(
    expect.arrayContaining([
      row("name-of-p/both00000000", "revoked", end),
      row("name-of-p/expired00000", "expired", end),
      row("name-of-p/revoked00000", "revoked", end),
      row("name-of-p/replaced0000", "replaced", end),
      row("name-of-gone/disabled0000", "principal disabled", START + HOUR),
    ]),
  );
  expect(await pass(2 * 24)).toEqual(["holds"]);
});

test("a clock that jumps forth and back ages no token", async () => {
  const store = await storeOf([
    token("holds", { expiresAt: START + 400 * DAY }),
    token("revoked", { revokedAt: START, revokedBy: "anna" }),
    // Revoked while the clock was in 1970.
    token("early", { revokedAt: 1, revokedBy: "anna" }),
  ]);
  const { clock, pass } = await forgetting(store);
  const all = ["early", "holds", "revoked"];
  for (const jump of [500 * DAY, -500 * DAY, -20_000 * DAY, 20_000 * DAY]) {
    clock.now += jump;
    expect(await pass(10)).toEqual(all);
  }
  expect(await pass(RUNS - 41)).toEqual(all);
  expect(await pass(1)).toEqual(["holds"]);
});

test("a token that ended only by a wrong clock is kept for the whole time again", async () => {
  const store = await storeOf([token("a", { expiresAt: START + 30 * DAY })]);
  const { clock, pass } = await forgetting(store);
  clock.now += 300 * DAY;
  await pass(RUNS - 1);
  clock.now -= 300 * DAY;
  expect(await pass(RUNS)).toEqual(["a"]);
  clock.now += 300 * DAY;
  expect(await pass(RUNS - 1)).toEqual(["a"]);
  expect(await pass(1)).toEqual([]);
});

test("runs of several processes are counted once, and the count is kept over a restart", async () => {
  const store = await storeOf([token("a", { revokedAt: START, revokedBy: "anna" })]);
  const first = await forgetting(store, { processes: 3 });
  expect(await first.pass(RUNS - 1)).toEqual(["a"]);
  await first.stop();
  const second = await forgetting(store);
  second.clock.now = first.clock.now;
  expect(await second.pass(1)).toEqual([]);
});

const revoked = (count: number) =>
  Array.from({ length: count }, (_, at) =>
    token(`t${at}x`, { revokedAt: START, revokedBy: "anna" }),
  );

test("many tokens are deleted in small steps, each with an audit row", async () => {
  const many = revoked(230);
  const store = await storeOf(many);
  const { pass } = await forgetting(store);
  await pass(RUNS);
  expect(await pass(1)).toEqual([]);
  const rows = await allRows(store.audit);
  expect(rows.map(({ subjects }) => subjects[0]).sort()).toEqual(
    many.map(({ id }) => `name-of-p/${id}`).sort(),
  );
});

test("closing waits for the step in progress", async () => {
  const store = await storeOf(revoked(120));
  const { pass, stop } = await forgetting(store);
  await pass(RUNS - 1);
  const last = pass(1);
  await stop();
  expect(await last).toHaveLength(70);
});
