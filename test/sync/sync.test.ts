import { afterEach, beforeEach, expect, test } from "vitest";
import type { Adapter, Failure, Job, Target } from "../../src/sync/adapter.ts";
import { SiteFailure, type SiteFailureKind } from "../../src/sync/failure.ts";
import type { KindSync } from "../../src/sync/kind-work.ts";
import { createSync, type Sync } from "../../src/sync/sync.ts";
import { targetOf } from "./target.ts";

/** Interval between two attempts without work, in milliseconds. */
const INTERVAL = 60_000;

let time: number;
let held: boolean;
let sites: Target[];
let sync: Sync<Target>;
let errors: unknown[];
let answering: boolean;
/** Kinds that a test has added. */
let kinds: KindSync<Target>[];
/** A kind without work. */
let last: KindSync<Target>;

/** A kind of record that no part of the program knows: a third one beside settings and mounts. */
interface Rules {
  readonly kind: KindSync<Target>;
  /** Sites that were reconciled, in order. */
  readonly runs: string[];
  readonly failures: Map<string, Failure>;
  /** The next attempts fail with it. */
  failing: SiteFailureKind | undefined;
  /** Attempts wait for it. */
  gate: Promise<void> | undefined;
  readonly requested: Set<string>;
  loads: number;
}

function addRules(changes: Partial<Adapter<Target>> = {}): Rules {
  const failures = new Map<string, Failure>();
  const state = {
    runs: [] as string[],
    failures,
    failing: undefined as SiteFailureKind | undefined,
    gate: undefined as Promise<void> | undefined,
    requested: new Set<string>(),
    loads: 0,
  };
  const reconcile = async ({ site, attempt }: Job<Target>): Promise<void> => {
    state.runs.push(site.id);
    await attempt(
      async () => {
        await state.gate;
        if (state.failing !== undefined) throw new SiteFailure(state.failing, "it fails");
        failures.delete(site.id);
      },
      () => ({ requeueAfter: INTERVAL, replans: true }),
    );
  };
  const kind = sync.add({
    concurrency: 2,
    failureOf: (siteId) => failures.get(siteId),
    failed: async ({ id }, failure) => void failures.set(id, failure),
    reconcile,
    load: async () => {
      state.loads += 1;
    },
    requests: {
      waiting: async () => new Set(state.requested),
      carryOut: async (siteId) => void state.requested.delete(siteId),
    },
    ...changes,
  });
  kinds.push(kind);
  return Object.assign(state, { kind });
}

/** One tick, and the end of the work that it begins. */
async function tick(): Promise<void> {
  await sync.tick();
  // Work on sites starts in the order of its calls.
  for (const { id } of sites) await last.reconcile(id);
  for (const { id } of sites)
    for (const kind of kinds) await kind.exclusive(id, async () => undefined);
}

beforeEach(() => {
  time = 1_000_000;
  held = true;
  sites = [targetOf("a")];
  errors = [];
  answering = false;
  sync = createSync<Target>({
    lease: {
      isHeld: () => held,
      renew: async () => undefined,
      release: async () => undefined,
    },
    sites: {
      sites: () => sites,
      byId: (id) => sites.find((site) => site.id === id),
      load: async () => undefined,
    },
    probe: async () => answering,
    now: () => time,
    random: () => 1,
    onError: (error) => void errors.push(error),
  });
  kinds = [];
  last = sync.add({
    concurrency: 1,
    failureOf: () => undefined,
    failed: async () => undefined,
    reconcile: async () => undefined,
  });
});

afterEach(async () => {
  await sync.close();
  expect(errors).toEqual([]);
});

test("a site is reconciled when it is new, when its time has come, and when it was changed", async () => {
  const rules = addRules();
  await tick();
  await tick();
  expect(rules.runs).toEqual(["a"]);
  time += INTERVAL;
  await tick();
  expect(rules.runs).toEqual(["a", "a"]);
  sites = [targetOf("a", { token: "another" })];
  await tick();
  expect(rules.runs).toEqual(["a", "a", "a"]);
  sites = [...sites, targetOf("b")];
  await tick();
  expect(rules.runs.slice(3)).toEqual(["b"]);
});

test("a paused site is left, also after a change of its records", async () => {
  sites = [targetOf("a", { paused: true })];
  const rules = addRules();
  await tick();
  rules.kind.changed(sites);
  await rules.kind.reconcile("a");
  expect(rules.runs).toEqual([]);
});

test("changes during a run share the next one", async () => {
  const rules = addRules();
  const gate = Promise.withResolvers<void>();
  rules.gate = gate.promise;
  const first = rules.kind.reconcile("a");
  await expect.poll(() => rules.runs.length).toBe(1);
  for (let count = 0; count < 20; count += 1) rules.kind.changed(sites);
  const last = rules.kind.reconcile("a");
  gate.resolve();
  await Promise.all([first, last]);
  expect(rules.runs).toEqual(["a", "a"]);
});

test("work on one site is exclusive, and a limited number of sites has work at once", async () => {
  sites = ["a", "b", "c"].map((id) => targetOf(id));
  const rules = addRules();
  const running = new Map<string, number>();
  let most = 0;
  const gate = Promise.withResolvers<void>();
  const work = (id: string) =>
    rules.kind.exclusive(id, async () => {
      running.set(id, (running.get(id) ?? 0) + 1);
      expect(running.get(id)).toBe(1);
      most = Math.max(most, [...running.values()].filter((count) => count > 0).length);
      await gate.promise;
      running.set(id, 0);
    });
  const all = ["a", "a", "b", "b", "c"].map(work);
  await expect.poll(() => most).toBe(2);
  gate.resolve();
  await Promise.all(all);
  expect(most).toBe(2);
});

test("work that has released its place lets another site in, and still excludes its own", async () => {
  sites = ["a", "b", "c"].map((id) => targetOf(id));
  const rules = addRules({ concurrency: 1 });
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = rules.kind.exclusive("a", ({ attempt }) =>
    attempt(
      async (release) => {
        release();
        await gate.promise;
        order.push("a");
      },
      () => undefined,
    ),
  );
  const second = rules.kind.exclusive("a", async () => void order.push("a again"));
  await rules.kind.exclusive("b", async () => void order.push("b"));
  gate.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(["b", "a", "a again"]);
});

test("a failing site is tried again after 1 s, 2 s, 4 s, up to a minute", async () => {
  const rules = addRules();
  rules.failing = "unreachable";
  const pauses: number[] = [];
  for (let count = 0; count < 9; count += 1) {
    await tick();
    const { nextTry = 0, failures = 0 } = rules.failures.get("a") ?? {};
    expect(failures).toBe(count + 1);
    pauses.push((nextTry - time) / 1_000);
    await tick();
    time = nextTry;
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  expect(rules.failures.get("a")).toMatchObject({ kind: "unreachable", since: 1_000_000 });
  expect(rules.runs).toHaveLength(9);
});

test("a failure of another kind begins anew, in its time", async () => {
  const rules = addRules();
  rules.failing = "unreachable";
  await tick();
  time += 1_000;
  rules.failing = "foreign";
  await tick();
  expect(rules.failures.get("a")).toMatchObject({ kind: "foreign", since: time, failures: 2 });
});

test.each(["unauthorized", "forbidden", "mooring"] as const)(
  "a lasting failure (%s) is not tried again before the site is changed",
  async (failing) => {
    const rules = addRules();
    rules.failing = failing;
    await tick();
    time += 3_600_000;
    rules.kind.changed(sites);
    await tick();
    expect(rules.runs).toHaveLength(1);
    rules.failing = undefined;
    sites = [targetOf("a", { token: "the right one" })];
    await tick();
    expect(rules.failures.size).toBe(0);
  },
);

test("a site that other records have reached since is tried at once", async () => {
  const [rules, others] = [addRules(), addRules()];
  rules.failing = "unauthorized";
  others.failing = "unreachable";
  await tick();
  await tick();
  expect([rules.runs.length, others.runs.length]).toEqual([1, 1]);
  rules.failing = undefined;
  others.failing = undefined;
  time += 1_000;
  await tick();
  await tick();
  expect([rules.failures.size, others.failures.size]).toEqual([0, 0]);
});

test("a failing site that answers a probe is tried at once, with all its failing kinds", async () => {
  const [rules, others] = [addRules(), addRules()];
  rules.failing = "unreachable";
  others.failing = "unreachable";
  for (let count = 0; count < 6; count += 1) {
    await tick();
    time = rules.failures.get("a")?.nextTry ?? 0;
  }
  time = (rules.failures.get("a")?.nextTry ?? 0) - 20_000;
  rules.failing = undefined;
  others.failing = undefined;
  answering = true;
  await tick();
  await expect.poll(() => rules.failures.size + others.failures.size).toBe(0);
});

test("a process without the lease reconciles nothing, and reads what another one has written", async () => {
  held = false;
  const rules = addRules();
  await tick();
  rules.kind.changed(sites);
  await rules.kind.reconcile("a");
  expect(rules.runs).toEqual([]);
  expect(rules.loads).toBeGreaterThan(0);
  held = true;
  await tick();
  expect(rules.runs).toEqual(["a"]);
});

test("work on request needs no lease", async () => {
  held = false;
  const rules = addRules();
  await expect(rules.kind.exclusive("a", async ({ site }) => site.id)).resolves.toBe("a");
});

test("requests are carried out while no other work on the site runs, and despite a failure", async () => {
  const rules = addRules();
  rules.failing = "unreachable";
  await tick();
  rules.failing = undefined;
  const gate = Promise.withResolvers<void>();
  const work = rules.kind.exclusive("a", () => gate.promise);
  rules.requested.add("a");
  const done = rules.kind.requested();
  await sync.tick();
  expect([...rules.requested]).toEqual(["a"]);
  gate.resolve();
  await Promise.all([work, done]);
  expect([...rules.requested]).toEqual([]);
  expect(rules.failures.size).toBe(0);
});

test("requests for a site that was deleted are left", async () => {
  const rules = addRules();
  rules.requested.add("gone");
  await tick();
  expect(rules.runs).toEqual(["a"]);
});

test("work on a deleted site, and after the end, is refused", async () => {
  const rules = addRules();
  await expect(rules.kind.exclusive("gone", async () => 1)).rejects.toThrow("was deleted");
  await sync.close();
  await expect(rules.kind.exclusive("a", async () => 1)).rejects.toBeInstanceOf(SiteFailure);
});

test("an unexpected error of a kind is reported, and does not end the work", async () => {
  const rules = addRules();
  const broken = addRules({ reconcile: async () => Promise.reject(new Error("a fault")) });
  await tick();
  expect(rules.runs).toEqual(["a"]);
  expect(errors.splice(0).map(String)).toContain("Error: a fault");
  expect(broken.failures.size).toBe(0);
});
