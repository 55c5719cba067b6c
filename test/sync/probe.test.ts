import { beforeEach, expect, test } from "vitest";
import type { Failure, Target } from "../../src/sync/adapter.ts";
import { createProbes } from "../../src/sync/probe.ts";
import { targetOf } from "./target.ts";

type Failing = Pick<Failure, "kind" | "nextTry">;

let time: number;
let failures: Map<string, Failing>;
let answering: Set<string>;
let probed: string[];
let retried: string[];
let hold: Promise<void> | undefined;

const probesOf = () =>
  createProbes({
    failureOf: ({ id }) => failures.get(id),
    now: () => time,
    retry: async ({ id }) => void retried.push(id),
    probe: async ({ id }) => {
      probed.push(id);
      await hold;
      return answering.has(id);
    },
  });

const fail = (id: string, members: Partial<Failing> = {}): Target => {
  failures.set(id, { kind: "unreachable", nextTry: 1_000_000, ...members });
  return targetOf(id);
};

beforeEach(() => {
  time = 10_000;
  failures = new Map();
  answering = new Set();
  [probed, retried] = [[], []];
  hold = undefined;
});

test("a site that waits after a failure is probed every two seconds, and tried when it answers", async () => {
  const probe = probesOf();
  const site = fail("a");
  await probe([site]);
  time += 1_999;
  await probe([site]);
  expect(probed).toEqual(["a"]);
  time += 1;
  answering.add("a");
  await probe([site]);
  expect([probed, retried]).toEqual([["a", "a"], ["a"]]);
});

test("a site that answers probes and still fails is tried once, and again after an outage", async () => {
  const probe = probesOf();
  const site = fail("a");
  answering.add("a");
  for (let times = 0; times < 5; times += 1) {
    time += 2_000;
    await probe([site]);
  }
  expect([probed.length, retried]).toEqual([5, ["a"]]);
  answering.clear();
  time += 2_000;
  await probe([site]);
  answering.add("a");
  time += 2_000;
  await probe([site]);
  expect(retried).toEqual(["a", "a"]);
});

test("sites without a failure, with a permanent one, paused or due are not probed", async () => {
  const probe = probesOf();
  await probe([
    targetOf("fine"),
    fail("refusing", { kind: "unauthorized" }),
    { ...fail("paused"), paused: true },
    fail("due", { nextTry: time }),
  ]);
  expect(probed).toEqual([]);
});

test("four sites are probed at one time, the longest-waiting ones first", async () => {
  const probe = probesOf();
  const sites = ["a", "b", "c", "d", "e", "f"].map((id) => fail(id));
  const first = Promise.withResolvers<void>();
  hold = first.promise;
  const running = probe(sites);
  time += 5_000;
  await probe(sites);
  expect(probed).toEqual(["a", "b", "c", "d"]);
  first.resolve();
  await running;
  time += 5_000;
  await probe(sites);
  expect(probed.slice(4, 6)).toEqual(["e", "f"]);
});
