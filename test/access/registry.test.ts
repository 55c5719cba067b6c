import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { openAccessRegistry } from "../../src/access/registry.ts";
import type { AccessStore, StoredPrincipal, StoredToken } from "../../src/access/store.ts";
import { makeToken } from "../../src/access/token-text.ts";
import { StoreError } from "../../src/database/error.ts";
import { openSqliteSettingStore } from "../../src/store/sqlite/store.ts";
import { temporaryPaths } from "../store/folder.ts";

const newPath = temporaryPaths();

const PRINCIPAL: StoredPrincipal = {
  ...{ id: "p", name: "program", kind: "program" },
  ...{ createdAt: 0, createdBy: "admin", disabledAt: null },
};

const stored = ({ id, hash }: { readonly id: string; readonly hash: string }): StoredToken => ({
  ...{ id, hash, principalId: "p", scopes: ["settings:read"], limits: ["key:a*"], comment: "" },
  ...{ createdAt: 0, createdBy: "admin", expiresAt: null, notAfter: null },
  ...{ replacedBy: null, revokedAt: null, revokedBy: null },
});

async function bookOf(tokens: readonly StoredToken[], time = () => 1_000) {
  const store = await openSqliteSettingStore(newPath());
  onTestFinished(() => store.close());
  const { access } = store;
  const rows = { principals: [PRINCIPAL], tokens: [...tokens], audit: [] };
  await access.transact((trx) => trx.write(rows));
  const uses: [string, number][] = [];
  const used = (id: string, at: number): void => void uses.push([id, at]);
  return { access, uses, book: await openAccessRegistry({ store: access, now: time, used }) };
}

test("a token's id alone opens nothing: its secret has to be the right one", async () => {
  const sameId = (size: number): Buffer => (size === 9 ? Buffer.alloc(9, 7) : randomBytes(size));
  const [own, other] = [makeToken(sameId), makeToken(sameId)];
  expect(own.id).toBe(other.id);
  const { book } = await bookOf([stored(own)]);
  expect(book.find(own.text, () => "")).toMatchObject({ name: `program/${own.id}` });
  expect(book.find(other.text, () => "")).toBe(undefined);
});

test("what many tokens may do is one grant, so that replies can be kept by it", async () => {
  const made = Array.from({ length: 3 }, () => makeToken(randomBytes));
  const { book } = await bookOf(made.map(stored));
  const grants = made.map(({ text }) => book.find(text, () => "")?.grant);
  expect(new Set(grants).size).toBe(1);
});

test("more tokens than one query reads are all known", async () => {
  const made = Array.from({ length: 1_203 }, () => makeToken(randomBytes));
  const { book } = await bookOf(made.map(stored));
  expect([...book.tokens()]).toHaveLength(1_203);
  for (const { text } of made) expect(book.find(text, () => "")).toBeDefined();
});

test("a use is noted once a minute", async () => {
  let now = 100_000;
  const made = makeToken(randomBytes);
  const { book, uses } = await bookOf([stored(made)], () => now);
  for (const step of [0, 59_999, 1, 30_000, 30_000]) {
    now += step;
    book.find(made.text, () => "");
  }
  expect(uses).toEqual([
    [made.id, 100_000],
    [made.id, 160_000],
    [made.id, 220_000],
  ]);
});

test("tokens of the same scopes and other limits have grants of their own", async () => {
  const [one, other] = [makeToken(randomBytes), makeToken(randomBytes)];
  const { book } = await bookOf([stored(one), { ...stored(other), limits: ["key:b*"] }]);
  const limits = [one, other].map(({ text }) => book.find(text, () => "")?.grant.limits);
  expect(limits).toEqual([["key:a*"], ["key:b*"]]);
});

test("tokens of a disabled principal open nothing, though they have no end themselves", async () => {
  const made = makeToken(randomBytes);
  const { access, book } = await bookOf([stored(made)]);
  const disabled = { ...PRINCIPAL, disabledAt: 500 };
  await access.transact((trx) => trx.write({ principals: [disabled], audit: [] }));
  await book.reread();
  expect(book.find(made.text, () => "")).toBe(undefined);
});

test("a forgotten token opens nothing, although it was in use", async () => {
  const [kept, gone] = [makeToken(randomBytes), makeToken(randomBytes)];
  const { access, book } = await bookOf([stored(kept), stored(gone)]);
  expect(book.find(gone.text, () => "")).toBeDefined();
  await access.transact((trx) => trx.write({ forgotten: [gone.id], audit: [] }));
  await book.reread();
  expect([...book.tokens()].map(({ id }) => id)).toEqual([kept.id]);
  expect(book.find(gone.text, () => "")).toBe(undefined);
  expect(book.find(kept.text, () => "")).toBeDefined();
});

test("only what has changed is read, and readings without news are not counted", async () => {
  const made = makeToken(randomBytes);
  const { access, book } = await bookOf([stored(made)]);
  const first = book.readings();
  expect(book.version()).toBe(1);
  await book.reread();
  expect([book.version(), book.readings()]).toEqual([1, first]);
  const revoked = { ...stored(made), revokedAt: 900, revokedBy: "admin" };
  await access.transact((trx) => trx.write({ tokens: [revoked], audit: [] }));
  await book.reread();
  expect([book.version(), book.readings()]).toEqual([2, first + 1]);
  expect(book.find(made.text, () => "")).toBe(undefined);
});

test("what could not be read is read at the next call, whether it is stale or not", async () => {
  const made = makeToken(randomBytes);
  const { access } = await bookOf([stored(made)]);
  let failing = false;
  const store: AccessStore = {
    ...access,
    changedElsewhere: () => false,
    news: (version) =>
      failing ? Promise.reject(new StoreError("busy", "away")) : access.news(version),
  };
  const book = await openAccessRegistry({ store, now: () => 1_000 });
  expect(book.fresh()).toBe(undefined);
  failing = true;
  await book.reread();
  // Memory serves meanwhile.
  expect(book.find(made.text, () => "")).toBeDefined();
  failing = false;
  const reading = book.fresh();
  expect(reading).toBeInstanceOf(Promise);
  await reading;
  expect(book.fresh()).toBe(undefined);
});
