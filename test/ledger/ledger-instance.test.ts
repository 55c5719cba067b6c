/** The ledger on a database that several instances share. */

import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import type { Draft } from "../../src/ledger/draft.ts";
import type { LedgerStore, StoredDelta } from "../../src/ledger/store.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { decideValue } from "../../src/settings/save.ts";
import { save, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { stored } from "../store/sample.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();

/** A store with some methods replaced. */
const wrapped =
  (methods: (store: LedgerStore) => Partial<LedgerStore>) =>
  (store: LedgerStore): LedgerStore =>
    Object.create(store, Object.getOwnPropertyDescriptors(methods(store)));

const unsure = () => Promise.reject(new StoreError("unsure", "the database did not answer"));

describe("a database that does not answer", () => {
  test("admits no call when the server hangs: another process may have revoked a right", async () => {
    const parts = await testParts(newPath(), {
      wrap: wrapped(() => ({ changedElsewhere: () => true, delta: unsure })),
    });
    const failure = await failureOf(async () => parts.ledger.fresh());
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(/^the state of this token cannot be determined at the moment/);
  });

  test("reports an unknown outcome, not a failed save", async () => {
    const parts = await testParts(newPath(), { wrap: wrapped(() => ({ transact: unsure })) });
    const failure = await failureOf(() => save(parts, { site_title: "x" }));
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(
      /^it is unknown whether this was saved; read it before you retry/,
    );
  });
});

describe("a revoked right", () => {
  test("has ended in all processes at the reply, and other saves wait for no process", async () => {
    const order: string[] = [];
    const parts = await testParts(newPath(), {
      wrap: wrapped(() => ({
        seenEverywhere: async (revision) => {
          order.push(`asked for ${revision}`);
          await Promise.resolve();
          order.push("seen");
        },
      })),
    });
    await save(parts, { site_title: "Harbour" });
    expect(order).toEqual([]);
    await parts.settings.resetToken(tester);
    order.push("answered");
    expect(order).toEqual(["asked for 2", "seen", "answered"]);
    await save(parts, { token: "t".repeat(40) });
    expect(order.slice(3)).toEqual(["asked for 3", "seen"]);
    const change = (draft: Draft): void => decideValue(draft, "token", "u".repeat(40));
    const { commit } = await parts.ledger.change(tester, change, { dryRun: true });
    expect(commit?.changes).toHaveLength(1);
    expect(order).toHaveLength(5);
  });

  test("that may still be accepted by a process is UNAVAILABLE, with a message that it was saved", async () => {
    const parts = await testParts(newPath(), { wrap: wrapped(() => ({ seenEverywhere: unsure })) });
    const before = parts.settings.get("token").value;
    const failure = await failureOf(() => parts.settings.resetToken(tester));
    expect(failure.code).toBe(Code.Unavailable);
    expect(failure.message).toMatch(/^it was saved, but another instance may still accept the old/);
    expect(parts.settings.get("token").value).not.toBe(before);
  });
});

test("another database at the same address ends every watch, at any revision", async () => {
  let databaseId = "one";
  let isOther = false;
  const parts = await testParts(newPath(), {
    wrap: wrapped((store) => ({
      get databaseId() {
        return databaseId;
      },
      changedElsewhere: () => isOther,
      delta: (after) => (isOther ? Promise.resolve(undefined) : store.delta(after)),
    })),
  });
  await save(parts, { site_title: "Harbour" });
  const { signal } = new AbortController();
  const ended = failureOf(() => parts.feed.read(1, signal)[Symbol.asyncIterator]().next());
  [databaseId, isOther] = ["two", true];
  expect(await parts.ledger.fresh()).toMatchObject({ revision: 1 });
  expect(await ended).toMatchObject({ code: Code.Unavailable });
  const calls: string[] = [];
  parts.ledger.listen({
    append: () => undefined,
    skipTo: () => void calls.push("skip"),
    reset: () => void calls.push("reset"),
  });
  await parts.ledger.refresh();
  expect(calls).toEqual(["skip"]);
});

describe("a commit of another process", () => {
  /** A process that reads this delta or, if it is undefined, the whole state. */
  const reading = async (
    news: (read: LedgerStore["delta"]) => Promise<StoredDelta | undefined>,
  ) => {
    const parts = await testParts(newPath(), {
      wrap: wrapped((store) => ({ delta: () => news(store.delta) })),
    });
    const calls: unknown[] = [];
    parts.ledger.listen({
      append: (commits) => void calls.push(commits.map(({ revision }) => revision)),
      skipTo: (revision) => void calls.push(`skip to ${revision}`),
      reset: (revision) => void calls.push(`reset to ${revision}`),
    });
    await save(parts, { site_title: "Harbour" });
    return { ...parts, calls };
  };
  const row = stored({ kind: "setting", key: "site_title", body: "theirs", revision: 7 });

  test("is visible without its commits, when they are too many", async () => {
    const { ledger, calls } = await reading(async () => ({
      revision: 7,
      changed: [row],
      deleted: [],
      commits: undefined,
    }));
    expect((await ledger.refresh()).get(SETTINGS, "site_title")?.value).toBe("theirs");
    expect(calls).toEqual([[1], "skip to 7"]);
  });

  test("is ignored when it was read already", async () => {
    const { ledger, calls } = await reading(async () => ({
      revision: 1,
      changed: [row],
      deleted: [],
      commits: [],
    }));
    expect((await ledger.refresh()).get(SETTINGS, "site_title")?.value).toBe("Harbour");
    expect(calls).toEqual([[1]]);
  });
});

test("a change during the read of another commit is decided on that commit", async () => {
  const path = newPath();
  let delta: StoredDelta | undefined;
  const parts = await testParts(path, {
    wrap: wrapped((store) => ({
      delta: async () => delta,
      transact: (work) =>
        store.transact((trx) =>
          work({
            ...trx,
            delta: async (after) => {
              delta = await trx.delta(after);
              await parts.ledger.refresh();
              return delta;
            },
          }),
        ),
    })),
  });
  await save(await testParts(path), { site_title: "theirs" });
  expect(await save(parts, { announcement: "ours" })).toMatchObject({ revision: 2 });
  expect(parts.settings.get("site_title").value).toBe("theirs");
});
