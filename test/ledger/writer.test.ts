import { setImmediate as nextTurn } from "node:timers/promises";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { StoreError } from "../../src/database/error.ts";
import type { LedgerStore } from "../../src/ledger/store.ts";
import { SETTINGS } from "../../src/settings/kind.ts";
import { type Parts, save, tester, testParts } from "../settings/parts.ts";
import { temporaryPaths } from "../store/folder.ts";
import { failureOf } from "../thrown.ts";

const newPath = temporaryPaths();

/** A ledger whose store counts its transactions and can fail them. */
async function watched() {
  const seen = {
    transactions: 0,
    writes: 0,
    commits: 0,
    fail: undefined as StoreError | undefined,
  };
  const wrap = (store: LedgerStore): LedgerStore => ({
    ...store,
    transact: async (work) => {
      seen.transactions += 1;
      const result = await store.transact(async (trx) => {
        const write: typeof trx.write = (rows) => {
          seen.writes += 1;
          return trx.write(rows);
        };
        const done = await work({ ...trx, write });
        if (seen.fail !== undefined) throw seen.fail;
        return done;
      });
      seen.commits += 1;
      return result;
    },
  });
  return { seen, parts: await testParts(newPath(), { wrap }) };
}

describe("changes that wait at the same time", () => {
  test("share a commit, and each has its own revision, in the order of the requests", async () => {
    const { seen, parts } = await watched();
    const saves = Array.from({ length: 64 }, (_, at) => save(parts, { [`k${at}`]: `${at}` }));
    const revisions = (await Promise.all(saves)).map(({ revision }) => revision);
    expect(revisions).toEqual(Array.from({ length: 64 }, (_, at) => at + 1));
    expect(seen.transactions).toBe(1);
    const commits = await parts.store.commits(0, 64, 64);
    expect(commits.map(({ changes }) => changes.map(({ key }) => key))).toEqual(
      Array.from({ length: 64 }, (_, at) => [`k${at}`]),
    );
  });

  test("share a commit when each arrives by its own event, as from many sockets", async () => {
    const { seen, parts } = await watched();
    // All of them are due in the same tick of the event loop.
    const saves = Array.from({ length: 8 }, (_, at) =>
      new Promise((resolve) => setImmediate(resolve)).then(() => save(parts, { [`k${at}`]: "1" })),
    );
    await Promise.all(saves);
    expect(parts.ledger.snapshot().revision).toBe(8);
    expect(seen.transactions).toBe(1);
  });

  test("are at most 256 in one commit", async () => {
    const { seen, parts } = await watched();
    await Promise.all(Array.from({ length: 600 }, (_, at) => save(parts, { counter: `${at}` })));
    expect(seen.transactions).toBe(3);
    expect(parts.ledger.snapshot().revision).toBe(600);
    expect((await parts.store.load()).records).toMatchObject([{ body: "599", revision: 600 }]);
  });

  test("share a commit with a change that is refused, and write nothing without effect", async () => {
    const { seen, parts } = await watched();
    const refused = failureOf(() => save(parts, { site_title: "\0" }));
    await Promise.all([
      refused,
      save(parts, { site_title: "a" }),
      save(parts, { robots_txt: "a" }),
    ]);
    expect(seen).toMatchObject({ transactions: 1, writes: 1 });
    await save(parts, { site_title: "a" });
    expect(seen).toMatchObject({ transactions: 2, writes: 1 });
  });

  test("end a commit with a large one", async () => {
    const { seen, parts } = await watched();
    const large = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`l${at}`, "1"]));
    const saved = await Promise.all([
      save(parts, { a: "1" }),
      save(parts, large),
      save(parts, { b: "1" }),
      save(parts, { c: "1" }),
    ]);
    expect(saved.map(({ revision }) => revision)).toEqual([1, 2, 3, 4]);
    expect(seen.transactions).toBe(2);
  });

  test("end a commit with the one that brings its text to 4 MiB, old and new values together", async () => {
    const { seen, parts } = await watched();
    const mebibyte = (letter: string) =>
      Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`k${at}`, letter.repeat(65_536)]));
    await Promise.all([..."abcdefgh"].map((letter) => save(parts, mebibyte(letter))));
    // The first one has no old values: 1 + 2 + 2, 2 + 2, 2 + 2, 2.
    expect(seen).toMatchObject({ transactions: 4, writes: 4 });
    expect(parts.ledger.snapshot().revision).toBe(8);
  });

  test("are each decided on the state of the earlier ones", async () => {
    const parts = await testParts(newPath());
    const append = (letter: string) =>
      parts.ledger.change(tester, (draft) => {
        const item = draft.get(SETTINGS, "site_title");
        if (item !== undefined) draft.put(SETTINGS, { ...item, value: `${item.value}${letter}` });
        return `${draft.revision}${letter}`;
      });
    await save(parts, { site_title: "-" });
    const changed = await Promise.all(["a", "b", "c"].map(append));
    expect(changed.map(({ result }) => result)).toEqual(["1a", "2b", "3c"]);
    expect(parts.settings.get("site_title")).toMatchObject({ value: "-abc", revision: 4 });
    expect((await parts.history.get(3)).changes).toMatchObject([{ oldBody: "-a", newBody: "-ab" }]);
  });

  test("keep the order of custom settings that several of them add", async () => {
    const path = newPath();
    const parts = await testParts(path);
    await Promise.all([save(parts, { c: "1", b: "1" }), save(parts, { a: "1" })]);
    const again = await testParts(path);
    for (const { ledger } of [parts, again])
      expect([...ledger.snapshot().of(SETTINGS).items()].slice(-3).map(({ key }) => key)).toEqual([
        "c",
        "b",
        "a",
      ]);
  });

  test("are unaffected by a refused one", async () => {
    const { seen, parts } = await watched();
    const results = await Promise.allSettled([
      save(parts, { site_title: "one" }),
      save(parts, { default_page_size: "many", site_title: "never" }),
      parts.settings.save([{ key: "logo", value: "l" }], tester, { expectedRevision: 0 }),
      save(parts, { version: "v9" }),
      save(parts, { allow_indexed: "perhaps" }),
      parts.ledger.change(tester, () => {
        throw new TypeError("a slip");
      }),
      save(parts, { site_title: "two" }),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    expect(seen.transactions).toBe(1);
    expect(parts.ledger.snapshot().revision).toBe(2);
    expect(parts.settings.get("site_title")).toMatchObject({ value: "two", revision: 2 });
  });

  test("with a text that PostgreSQL cannot store are refused alone, for any caller", async () => {
    const { seen, parts } = await watched();
    const inDraft = (value: string) =>
      parts.ledger.change(tester, (draft) => {
        const item = draft.get(SETTINGS, "site_title");
        if (item !== undefined) draft.put(SETTINGS, { ...item, value });
      });
    const results = await Promise.allSettled([
      save(parts, { site_title: "one" }),
      parts.settings.save([{ key: "logo", value: "l" }], { ...tester, reason: "be\0cause" }),
      parts.settings.save([{ key: "logo", value: "l" }], { ...tester, actor: "\0" }),
      inDraft("a\0b"),
      save(parts, { site_title: "two" }),
    ]);
    expect(results.map((result) => result.status === "rejected" && result.reason)).toMatchObject([
      false,
      { code: Code.InvalidArgument, violations: [{ field: "reason" }] },
      { code: Code.InvalidArgument, violations: [{ field: "actor" }] },
      { code: Code.InvalidArgument, violations: [{ field: "site_title.value" }] },
      false,
    ]);
    expect(seen.transactions).toBe(1);
    expect(parts.settings.get("site_title")).toMatchObject({ value: "two", revision: 2 });
  });

  test("include a dry run, which reports its effect there and takes no revision", async () => {
    const parts = await testParts(newPath());
    const [, dry, last] = await Promise.all([
      save(parts, { site_title: "one" }),
      parts.settings.save([{ key: "site_title", value: "dry" }], tester, { dryRun: true }),
      save(parts, { site_title: "two" }),
    ]);
    expect(dry.revision).toBe(1);
    expect(dry.commit?.changes).toMatchObject([{ oldBody: "one", newBody: "dry" }]);
    expect(last.commit?.changes).toMatchObject([{ oldBody: "one", newBody: "two" }]);
    expect(last.revision).toBe(2);
  });
});

describe("a change is acknowledged", () => {
  test("after its own commit, and is visible by then", async () => {
    const { seen, parts } = await watched();
    const saves = Array.from({ length: 20 }, async (_, at) => {
      const { revision } = await save(parts, { [`k${at}`]: "1" });
      expect(seen.commits).toBeGreaterThan(0);
      expect(parts.ledger.snapshot().revision).toBeGreaterThanOrEqual(revision);
      expect(parts.feed.head).toBeGreaterThanOrEqual(revision);
    });
    await Promise.all(saves);
  });

  test("never when the commit fails; then nothing of it is visible, and the next one continues", async () => {
    const { seen, parts } = await watched();
    await save(parts, { site_title: "one" });
    const snapshot = parts.ledger.snapshot();
    const fail = async (error: StoreError) => {
      seen.fail = error;
      const both = [save(parts, { site_title: "two" }), save(parts, { logo: "two" })];
      const failures = await Promise.all(both.map((one) => failureOf(() => one)));
      seen.fail = undefined;
      return failures;
    };
    const [full] = await fail(new StoreError("full", "the database is on a full disk"));
    expect(full).toMatchObject({ code: Code.ResourceExhausted });
    expect(full?.message).toBe("nothing was saved: the database is on a full disk");
    for (const failure of await fail(new StoreError("failed", "the disk is gone")))
      expect(failure).toMatchObject({ code: Code.Unavailable });
    expect(parts.ledger.snapshot()).toBe(snapshot);
    expect(parts.feed.head).toBe(1);
    expect(await save(parts, { site_title: "three" })).toMatchObject({ revision: 2 });
  });
});

describe("two engines on one database", () => {
  const both = async (): Promise<[Parts, Parts]> => {
    const path = newPath();
    return [await testParts(path), await testParts(path)];
  };

  test("keep one sequence of revisions, each change after all earlier ones", async () => {
    const engines = await both();
    const saves = engines.flatMap((parts, which) =>
      Array.from({ length: 40 }, (_, at) => save(parts, { [`k${which}`]: `${at}` })),
    );
    const revisions = (await Promise.all(saves)).map(({ revision }) => revision);
    expect(revisions.sort((a, b) => a - b)).toEqual(Array.from({ length: 80 }, (_, at) => at + 1));
    const [a, b] = await Promise.all(engines.map(({ ledger }) => ledger.fresh()));
    expect([...(a?.of(SETTINGS).items() ?? [])]).toEqual([...(b?.of(SETTINGS).items() ?? [])]);
    expect(a?.revision).toBe(80);
  });

  test("validate a change against the other one's commits", async () => {
    const [a, b] = await both();
    await save(a, { site_title: "by a" });
    const stale = b.settings.save([{ key: "logo", value: "x" }], tester, { expectedRevision: 0 });
    expect(await failureOf(() => stale)).toMatchObject({ code: Code.Aborted });
    await save(b, { logo: "y" });
    expect(b.settings.get("site_title").value).toBe("by a");
    expect(b.ledger.snapshot().revision).toBe(2);
  });

  test("give no old token to concurrent callers, at any step of a read", async () => {
    const [a, b] = await both();
    for (let round = 0; round < 20; round += 1) {
      const { token } = await a.settings.resetToken(tester);
      const asked: Promise<string | undefined>[] = [];
      for (let step = 0; step < 400; step += 1) {
        asked.push(b.ledger.fresh().then((now) => now.get(SETTINGS, "token")?.value));
        // The next caller comes one step of the read later, or one tick of the event loop.
        await (step % 20 === 0 ? nextTurn() : Promise.resolve());
      }
      for (const seen of await Promise.all(asked)) expect(seen).toBe(token);
    }
  });
});

test("while the database cannot be read, reads continue from memory and the failure is reported", async () => {
  const failures: unknown[] = [];
  let broken: StoreError | undefined;
  const throwing = () => {
    if (broken !== undefined) throw broken;
  };
  const wrap = (store: LedgerStore): LedgerStore => ({
    ...store,
    changedElsewhere: () => broken !== undefined || store.changedElsewhere(),
    delta: async (after) => {
      throwing();
      return store.delta(after);
    },
  });
  const onReadFailure = (error: unknown) => void failures.push(error);
  const parts = await testParts(newPath(), { wrap, onReadFailure });
  await save(parts, { site_title: "kept" });
  broken = new StoreError("failed", "the disk is gone");
  const asked = await Promise.all([parts.ledger.fresh(), parts.ledger.fresh()]);
  for (const snapshot of asked) expect(snapshot.get(SETTINGS, "site_title")?.value).toBe("kept");
  expect(failures).toContain(broken);
  broken = undefined;
  await save(parts, { site_title: "again" });
  expect((await parts.ledger.fresh()).get(SETTINGS, "site_title")?.value).toBe("again");
});
