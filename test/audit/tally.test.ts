import { expect, test } from "vitest";
import type { AuditEntry } from "../../src/audit/store.ts";
import { createTally, type Noted } from "../../src/audit/tally.ts";

/** A read of a setting by admin, with other members of its origin and other members of the call. */
const noted = (origin: Partial<Noted["origin"]> = {}, call: Partial<Noted> = {}): Noted => ({
  origin: {
    actor: "admin",
    transport: "rest",
    method: "GetSetting",
    peer: "10.0.0.1",
    requestId: "r",
    ...origin,
  },
  outcome: "OK",
  ...call,
});
/** Receiver of rows for tests in which all rows wait for the drain. */
const unexpected = (): never => {
  throw new Error("rows were written before the drain");
};
const DENIED = { outcome: "PERMISSION_DENIED", reason: "no scope" };
const REFUSED = { outcome: "UNAUTHENTICATED", reason: "a wrong token" };

test("one call is a row with all its details, and is drained once", () => {
  const tally = createTally(() => 60_000, unexpected);
  tally.note(noted({ actor: "p/0123456789ab" }, { subjects: ["aria2_secret"] }));
  expect(tally.drain()).toEqual([
    {
      time: 60_000,
      actor: "p/0123456789ab",
      tokenId: "0123456789ab",
      transport: "rest",
      method: "GetSetting",
      peer: "10.0.0.1",
      requestId: "r",
      outcome: "OK",
      subjects: ["aria2_secret"],
      detail: { count: 1, since: "1970-01-01T00:01:00.000Z" },
    },
  ]);
  expect(tally.drain()).toEqual([]);
});

test("reads are one row per caller, address and method, with the transports and subjects of all", () => {
  const tally = createTally(() => 0, unexpected);
  for (const [transport, subject] of [
    ["rest", "a"],
    ["grpc", "b"],
    ["rest", "a"],
  ] as const)
    tally.note(noted({ transport }, { subjects: [subject] }));
  tally.note(noted({ peer: "10.0.0.2" }));
  tally.note(noted({ method: "ListSettings" }));
  tally.note(noted({ actor: "other" }));
  const rows = tally.drain();
  expect(rows).toHaveLength(4);
  expect(rows[0]).toMatchObject({ transport: "", requestId: "", subjects: ["a", "b"] });
  expect(rows[0]?.detail).toMatchObject({ count: 3, transports: ["rest", "grpc"] });
});

test("refusals of one token are one row, for any method", () => {
  const tally = createTally(() => 0, unexpected);
  for (const method of ["SaveSettings", "ListTokens"]) tally.note(noted({ method }, DENIED));
  const [row, ...more] = tally.drain();
  expect(more).toEqual([]);
  expect(row).toMatchObject({ actor: "admin", method: "", outcome: "PERMISSION_DENIED" });
  expect(row?.detail).toMatchObject({
    reason: "no scope",
    methods: ["SaveSettings", "ListTokens"],
  });
});

test("unauthenticated calls are one row for a reason, with the most frequent addresses", () => {
  const tally = createTally(() => 0, unexpected);
  for (let at = 0; at < 5_000; at += 1)
    tally.note(noted({ actor: "", peer: `10.1.${at >> 8}.${at & 255}` }, REFUSED));
  for (let at = 0; at < 7; at += 1) tally.note(noted({ actor: "", peer: "10.1.0.9" }, REFUSED));
  const [row, ...more] = tally.drain();
  expect(more).toEqual([]);
  expect(row?.detail).toMatchObject({
    count: 5_007,
    // Ten addresses are named: one with eight calls, and nine with one call each.
    otherPeers: 5_007 - 8 - 9,
    peers: expect.objectContaining({ "10.1.0.9": 8 }),
  });
  expect(Object.keys(row?.detail["peers"] as object)).toHaveLength(10);
  expect(row?.peer).toBe("");
});

test("refusals of one token from many addresses are one row, with the most frequent addresses", () => {
  const tally = createTally(() => 0, unexpected);
  for (let at = 0; at < 5_000; at += 1)
    tally.note(noted({ actor: "p/0123456789ab", peer: `10.1.${at >> 8}.${at & 255}` }, DENIED));
  const [row, ...more] = tally.drain();
  expect(more).toEqual([]);
  expect(row).toMatchObject({ actor: "p/0123456789ab", tokenId: "0123456789ab", peer: "" });
  expect(row?.detail).toMatchObject({ count: 5_000, otherPeers: 4_990 });
});

test("a hundred addresses are counted one by one until the drain, and the ten with the most calls are named", () => {
  const tally = createTally(() => 0, unexpected);
  const call = (last: number, times = 1): void => {
    for (let at = 0; at < times; at += 1)
      tally.note(noted({ actor: "", peer: `10.1.0.${last}` }, REFUSED));
  };
  for (let last = 0; last <= 100; last += 1) call(last);
  call(50, 5);
  call(100, 9);
  const [row] = tally.drain();
  expect(row?.detail).toMatchObject({ count: 115, otherPeers: 100 });
  const shown = Object.entries(row?.detail["peers"] as object);
  expect(shown[0]).toEqual(["10.1.0.50", 6]);
  expect(shown).toHaveLength(10);
  call(1);
  call(2);
  expect(tally.drain()[0]?.detail).toEqual({
    count: 2,
    since: "1970-01-01T00:00:00.000Z",
    reason: "a wrong token",
    peers: { "10.1.0.1": 1, "10.1.0.2": 1 },
  });
});

test("reads name all their subjects, a hundred in a row, and calls without one are counted", () => {
  const tally = createTally(() => 0, unexpected);
  const subjects = Array.from({ length: 250 }, (_, at) => `key${at}`);
  tally.note(noted({}, { subjects }));
  tally.note(noted({}, { subjects: subjects.slice(100) }));
  tally.note(noted());
  const rows = tally.drain();
  expect(rows.map((row) => row.subjects)).toEqual([
    subjects.slice(0, 100),
    subjects.slice(100, 200),
    subjects.slice(200),
  ]);
  expect(rows[0]?.detail).toMatchObject({ count: 3 });
  expect(rows.slice(1).map(({ detail }) => detail["part"])).toEqual([2, 3]);
});

test("long names take more rows, because the audit cuts a row at 4,096 characters", () => {
  const tally = createTally(() => 0, unexpected);
  const subjects = Array.from({ length: 50 }, (_, at) => `${at}`.padStart(255, "x"));
  tally.note(noted({}, { subjects }));
  const rows = tally.drain();
  expect(rows.flatMap((row) => row.subjects)).toEqual(subjects);
  for (const row of rows) expect(row.subjects.join().length).toBeLessThan(4_096);
});

test("names beyond 20,000 are written before the drain, and none is lost", () => {
  const written: AuditEntry[] = [];
  const tally = createTally(
    () => 0,
    (rows) => written.push(...rows),
  );
  const names = Array.from({ length: 25_000 }, (_, at) => `mount:m${at}:password`);
  for (let at = 0; at < names.length; at += 1_000)
    tally.note(noted({}, { subjects: names.slice(at, at + 1_000) }));
  expect(written.length).toBeGreaterThan(0);
  const all = [...written, ...tally.drain()].flatMap(({ subjects }) => subjects);
  expect(all).toEqual(names);
});

test("10,000 refused calls take at most 101 rows, and a read keeps its row with actor and token", () => {
  const tally = createTally(() => 0, unexpected);
  for (let at = 0; at < 10_000; at += 1)
    tally.note(noted({ actor: `p${at}/0123456789ab`, peer: `10.0.0.${at % 250}` }, DENIED));
  tally.note(noted({ actor: "reader/abcdefghijkl" }, { subjects: ["sso_client_secret"] }));
  const rows = tally.drain();
  // A hundred rows of refused tokens, one of all further ones, and the read.
  expect(rows.length).toBeLessThanOrEqual(102);
  const sum = rows.reduce((all, { detail }) => all + Number(detail["count"]), 0);
  expect(sum).toBe(10_001);
  expect(rows).toContainEqual(
    expect.objectContaining({
      actor: "reader/abcdefghijkl",
      tokenId: "abcdefghijkl",
      outcome: "OK",
      subjects: ["sso_client_secret"],
    }),
  );
});

test("reads of 10,000 tokens keep their tokens: each hundred rows are written before the drain", () => {
  const written: AuditEntry[] = [];
  const batches: number[] = [];
  const tally = createTally(
    () => 0,
    (rows) => {
      batches.push(rows.length);
      written.push(...rows);
    },
  );
  for (let at = 0; at < 10_000; at += 1) tally.note(noted({ actor: `p${at}/0123456789ab` }));
  expect(new Set(batches)).toEqual(new Set([100]));
  const actors = [...written, ...tally.drain()].map(({ actor }) => actor);
  expect(actors).toEqual(Array.from({ length: 10_000 }, (_, at) => `p${at}/0123456789ab`));
});
