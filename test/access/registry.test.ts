import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { openAccessRegistry } from "../../src/access/registry.ts";
import type { AccessStore, StoredToken } from "../../src/access/store.ts";
import { makeToken } from "../../src/access/token-text.ts";
import { StoreError } from "../../src/database/error.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";
import { samplePrincipal, sampleToken } from "./sample.ts";

const newPath = temporaryPaths();

const stored = ({ id, hash }: Pick<StoredToken, "id" | "hash">) =>
  sampleToken({ id, hash, limits: ["key:a*"] });

async function registryOf(tokens: readonly StoredToken[], time = () => 1_000) {
  const store = await openSqliteStore(newPath());
  onTestFinished(() => store.close());
  const { access } = store;
  const rows = { principals: [samplePrincipal()], tokens: [...tokens], audit: [] };
  await access.transact((trx) => trx.write(rows));
  const uses: [string, number][] = [];
  const used = (id: string, at: number): void => void uses.push([id, at]);
  return { access, uses, registry: await openAccessRegistry({ store: access, now: time, used }) };
}

test("a token's id with a wrong secret is refused", async () => {
  const sameId = (size: number): Buffer => (size === 9 ? Buffer.alloc(9, 7) : randomBytes(size));
  const [own, other] = [makeToken(sameId), makeToken(sameId)];
  expect(own.id).toBe(other.id);
  const { registry } = await registryOf([stored(own)]);
  expect(registry.find(own.text, () => "")).toMatchObject({ name: `program/${own.id}` });
  expect(registry.find(other.text, () => "")).toBe(undefined);
});

test.each<[string, Partial<StoredToken>, boolean]>([
  ["the same rights", {}, true],
  ["other limits", { limits: ["key:b*"] }, false],
  ["other scopes", { scopes: ["audit:read"] }, false],
])("tokens with %s share one grant object: %s", async (_, members, isShared) => {
  const [one, other] = [makeToken(randomBytes), makeToken(randomBytes)];
  const { registry } = await registryOf([stored(one), { ...stored(other), ...members }]);
  const [first, second] = [one, other].map(({ text }) => registry.find(text, () => "")?.grant);
  expect(first === second).toBe(isShared);
  expect(second).toMatchObject({ limits: ["key:a*"], scopes: ["settings:read"], ...members });
});

test("more tokens than one query reads are all found", async () => {
  const made = Array.from({ length: 1_203 }, () => makeToken(randomBytes));
  const { registry } = await registryOf(made.map(stored));
  expect([...registry.tokens()]).toHaveLength(1_203);
  for (const { text } of made) expect(registry.find(text, () => "")).toBeDefined();
});

test("the last use of a token is recorded once a minute", async () => {
  let now = 100_000;
  const made = makeToken(randomBytes);
  const { registry, uses } = await registryOf([stored(made)], () => now);
  for (const step of [0, 59_999, 1, 30_000, 30_000]) {
    now += step;
    registry.find(made.text, () => "");
  }
  expect(uses).toEqual([
    [made.id, 100_000],
    [made.id, 160_000],
    [made.id, 220_000],
  ]);
});

test("tokens of a disabled principal are refused, also without an end of their own", async () => {
  const made = makeToken(randomBytes);
  const { access, registry } = await registryOf([stored(made)]);
  const disabled = { ...samplePrincipal(), disabledAt: 500 };
  await access.transact((trx) => trx.write({ principals: [disabled], audit: [] }));
  await registry.reread();
  expect(registry.find(made.text, () => "")).toBe(undefined);
});

test("a deleted token is refused, also one that was in use", async () => {
  const [kept, deleted] = [makeToken(randomBytes), makeToken(randomBytes)];
  const { access, registry } = await registryOf([stored(kept), stored(deleted)]);
  expect(registry.find(deleted.text, () => "")).toBeDefined();
  await access.transact((trx) => trx.write({ forgotten: [deleted.id], audit: [] }));
  await registry.reread();
  expect([...registry.tokens()].map(({ id }) => id)).toEqual([kept.id]);
  expect(registry.find(deleted.text, () => "")).toBe(undefined);
  expect(registry.find(kept.text, () => "")).toBeDefined();
});

test("only changes are read, and reads without changes are not counted", async () => {
  const made = makeToken(randomBytes);
  const { access, registry } = await registryOf([stored(made)]);
  const first = registry.readings();
  expect(registry.version()).toBe(1);
  await registry.reread();
  expect([registry.version(), registry.readings()]).toEqual([1, first]);
  const revoked = { ...stored(made), revokedAt: 900, revokedBy: "admin" };
  await access.transact((trx) => trx.write({ tokens: [revoked], audit: [] }));
  await registry.reread();
  expect([registry.version(), registry.readings()]).toEqual([2, first + 1]);
  expect(registry.find(made.text, () => "")).toBe(undefined);
});

test("a failed read is repeated at the next call, stale or not", async () => {
  const made = makeToken(randomBytes);
  const { access } = await registryOf([stored(made)]);
  let failing = false;
  const store: AccessStore = {
    ...access,
    changedElsewhere: () => false,
    news: (version) =>
      failing ? Promise.reject(new StoreError("busy", "away")) : access.news(version),
  };
  const registry = await openAccessRegistry({ store, now: () => 1_000 });
  expect(registry.fresh()).toBe(undefined);
  failing = true;
  await registry.reread();
  // Memory serves until then.
  expect(registry.find(made.text, () => "")).toBeDefined();
  failing = false;
  const reading = registry.fresh();
  expect(reading).toBeInstanceOf(Promise);
  await reading;
  expect(registry.fresh()).toBe(undefined);
});

test("a stored hash of another length matches no token", async () => {
  const made = makeToken(randomBytes);
  const { registry } = await registryOf([{ ...stored(made), hash: made.hash.slice(1) }]);
  expect(registry.find(made.text, () => "")).toBe(undefined);
});

test("principals and tokens of a replaced database are removed", async () => {
  const made = makeToken(randomBytes);
  const { access } = await registryOf([stored(made)]);
  let isReplaced = false;
  const none = { version: 1, isWhole: true, principals: [], tokens: [] };
  const store = {
    ...access,
    news: async (after: number) => (isReplaced ? none : access.news(after)),
  };
  const registry = await openAccessRegistry({ store, now: () => 1_000 });
  expect(registry.find(made.text, () => "")).toBeDefined();
  const before = registry.readings();
  isReplaced = true;
  await registry.reread();
  expect([registry.principals(), [...registry.tokens()]]).toEqual([[], []]);
  expect(registry.find(made.text, () => "")).toBe(undefined);
  expect(registry.readings()).toBe(before + 1);
});

test("equal lists of many tokens are one object in memory", async () => {
  const made = [makeToken(randomBytes), makeToken(randomBytes)];
  const { registry } = await registryOf(made.map(stored));
  const [one, other] = [...registry.tokens()];
  expect(one?.scopes).toBe(other?.scopes);
});
