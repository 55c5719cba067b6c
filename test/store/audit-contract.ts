/** What the audit of every database keeps to. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store } from "../../src/database.ts";
import { expectedHash, START } from "../../src/store/audit-chain.ts";
import type { AuditEntry, AuditRow, AuditStore } from "../../src/store/audit-store.ts";
import { setting } from "./sample.ts";

/** An entry with what a test does not care about. */
export function entry(members: Partial<AuditEntry> = {}): AuditEntry {
  return {
    ...{
      time: 1_700_000_000_000,
      actor: "admin",
      tokenId: "",
      door: "rest",
      method: "SaveSettings",
    },
    ...{ peer: "127.0.0.1", requestId: "r1", outcome: "OK", subjects: ["a"], detail: {} },
    ...members,
  };
}

/** All rows that are kept, the oldest first. */
export function allRows(store: AuditStore): Promise<readonly AuditRow[]> {
  return store.rows({ after: 0, before: 1e9, limit: 1e6, newestFirst: false });
}

/** Whether each row follows the one before, and is as it was written. */
export function expectChain(rows: readonly AuditRow[], before = START): void {
  const wrong = rows.find((row, at) => {
    const { seq, hash } = rows[at - 1] ?? before;
    return row.seq !== seq + 1 || row.prev !== hash || row.hash !== expectedHash(row);
  });
  expect(wrong).toBeUndefined();
}

/** Whether the audit is one chain with each of these revisions once, in their order. */
export async function expectAudited(store: AuditStore, revisions: readonly number[]) {
  const rows = await allRows(store);
  expectChain(rows);
  const details = rows.map(({ detail }) => JSON.parse(detail) as { revision?: number });
  expect(details.flatMap(({ revision }) => revision ?? [])).toEqual(revisions);
}

export function describeAudit(
  name: string,
  newPlace: () => Promise<{ open(): Promise<Store>; remove(): Promise<void> }>,
): void {
  describe(name, () => {
    let place: Awaited<ReturnType<typeof newPlace>>;
    let store: Store;
    const opened: Store[] = [];
    const open = async (): Promise<Store> => {
      const another = await place.open();
      opened.push(another);
      return another;
    };
    beforeEach(async () => {
      place = await newPlace();
      store = await open();
    });
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((one) => one.close()));
      await place.remove();
    });

    test("values that are sealed anew have their row in the same transaction", async () => {
      await store.transact((trx) => trx.write(setting(1, { a: "clear" })));
      const before = (await store.audit.head()).seq;
      const sealed = { value: "sealed" };
      await store.rewrite((settings) => ({
        settings: settings.map((one) => ({ ...one, ...sealed })),
        audit: [entry({ method: "seal", subjects: settings.map(({ key }) => key) })],
      }));
      expect((await store.load()).settings).toMatchObject([sealed]);
      const rows = await allRows(store.audit);
      expect(rows.slice(before)).toMatchObject([{ method: "seal", subjects: ["a"] }]);
      expectChain(rows);
      const refused = store.rewrite(() => {
        throw new Error("no");
      });
      await expect(refused).rejects.toThrow("no");
      expect(await allRows(store.audit)).toHaveLength(rows.length);
    });

    test("hashes of secrets are replaced in history and sites, with a row in the same transaction", async () => {
      const hash = (name: string) => `hmac1:${name.repeat(43)}`;
      const FORM = "hmac2:0123456789ab:";
      const secret = (revision: number, key: string, oldHash: string, newHash: string) => {
        const { revisions, ...rest } = setting(revision, { [key]: "sealed" });
        const nothing = { oldValue: null, newValue: null };
        const hashed = { key, ...nothing, oldHash, newHash, oldDefinition: null };
        const changes = [{ ...hashed, newDefinition: null }];
        return { ...rest, revisions: revisions.map((one) => ({ ...one, changes })) };
      };
      await store.transact((trx) => trx.write(secret(1, "a", hash("0"), hash("1"))));
      await store.transact((trx) => trx.write(secret(2, "a", hash("1"), `${FORM}${hash("2")}`)));
      await store.transact((trx) => trx.write(setting(3, { b: "hmac1:b" })));
      const site = {
        ...{ id: "s1", name: "s1", url: "http://h", address: "h:80", token: "", ca: "", pin: "" },
        ...{ mode: "follow", include: "[]", exclude: "[]", overrides: "{}", created: 1 },
      };
      await store.sites.insert({ ...site, paused: false, upstream: false }, []);
      const known = { refused: { a: { hash: hash("3"), reason: '"hmac1:no hash"' } } };
      const state = { siteId: "s1", version: 0, appliedRevision: 3, state: JSON.stringify(known) };
      await store.sites.record([{ state, events: [], audit: [] }]);
      const before = (await store.audit.head()).seq;
      const rehash = {
        form: FORM,
        renew: (old: string) => FORM + old.slice("hmac1:".length),
        audit: (hashes: number) => [entry({ method: "rehash", detail: { hashes } })],
      };
      const both = await Promise.all([store.rehash(rehash), (await open()).rehash(rehash)]);
      expect(both.sort()).toEqual([0, 4]);
      expect(await store.commits(0, 3, 3)).toMatchObject([
        { changes: [{ oldHash: FORM + "0".repeat(43), newHash: FORM + "1".repeat(43) }] },
        { changes: [{ oldHash: FORM + "1".repeat(43), newHash: `${FORM}${hash("2")}` }] },
        { changes: [{ oldHash: null, newHash: null, newValue: "hmac1:b" }] },
      ]);
      const [now] = await store.sites.states();
      known.refused.a.hash = FORM + "3".repeat(43);
      expect(now).toMatchObject({ version: 2, state: JSON.stringify(known) });
      // Written by a process that knows the state of before.
      const late = { ...state, version: 1 };
      expect(await store.sites.record([{ state: late, events: [], audit: [] }])).toEqual([
        undefined,
      ]);
      const rows = await allRows(store.audit);
      expect(rows.slice(before)).toMatchObject([{ method: "rehash", detail: '{"hashes":4}' }]);
      expectChain(rows);
      expect(await store.eraseReplaced()).toBeUndefined();
      expect(await store.rehash(rehash)).toBe(0);
    });

    test("is empty at first", async () => {
      expect([await store.audit.head(), await store.audit.floor()]).toEqual([START, START]);
      expect(await allRows(store.audit)).toEqual([]);
      await store.audit.append([]);
      expect(await store.audit.head()).toEqual(START);
    });

    test("rows come back as they were written and follow each other", async () => {
      const strange = 'ключ 🔑 "\\ \u2028 \u007f é';
      await store.audit.append([
        entry({ actor: "p/0123456789ab", tokenId: "0123456789ab", subjects: ["a,b", strange] }),
        entry({ subjects: [], detail: { text: strange, list: [1, "two"] } }),
      ]);
      await store.audit.append([entry({ outcome: "PERMISSION_DENIED" })]);
      const rows = await allRows(store.audit);
      expect(rows).toMatchObject([
        { seq: 1, prev: START.hash, subjects: ["a,b", strange], tokenId: "0123456789ab" },
        { seq: 2, subjects: [], detail: JSON.stringify({ text: strange, list: [1, "two"] }) },
        { seq: 3, outcome: "PERMISSION_DENIED", time: 1_700_000_000_000 },
      ]);
      expectChain(rows);
      expect(await store.audit.head()).toEqual({ seq: 3, hash: rows[2]?.hash });
    });

    test("what no database keeps is left out, and what is too long is cut", async () => {
      const names = Array.from({ length: 3_000 }, (_, at) => `key-${at}`);
      await store.audit.append([
        entry({ actor: "a\0b", peer: "\ud800", subjects: names, requestId: "x".repeat(9_999) }),
      ]);
      const rows = await allRows(store.audit);
      expect(rows[0]).toMatchObject({ actor: "ab", peer: "\ufffd", requestId: "x".repeat(512) });
      expect(rows[0]?.subjects).toEqual(names.slice(0, rows[0]?.subjects.length));
      expect(rows[0]?.subjects.length).toBeGreaterThan(400);
      expectChain(rows);
    });

    test("rows of changes are written with them, or not at all", async () => {
      const audit = [entry({ subjects: ["a"] }), entry({ subjects: ["b"] })];
      await store.transact((trx) => trx.write({ ...setting(1, { a: "1" }), audit }));
      const refused = store.transact(async (trx) => {
        await trx.write({ ...setting(2, { a: "2" }), audit });
        await trx.revision();
        throw new Error("no");
      });
      await expect(refused).rejects.toThrow("no");
      const rows = await allRows(store.audit);
      expect(rows.map(({ subjects }) => subjects)).toEqual([["a"], ["b"]]);
      expectChain(rows);
    });

    test("several processes make one chain", async () => {
      const other = await open();
      const both = [store, other];
      await Promise.all(
        Array.from({ length: 40 }, (_, at) =>
          both[at % 2]?.audit.append([
            entry({ requestId: `${at}` }),
            entry({ requestId: `${at}+` }),
          ]),
        ),
      );
      const rows = await allRows(store.audit);
      expect(rows).toHaveLength(80);
      expectChain(rows);
    });

    test("changes and other rows of several processes make one chain", async () => {
      const other = await open();
      const writes = async (): Promise<void> => {
        for (let revision = 1; revision <= 20; revision += 1)
          await store.transact(async (trx) => {
            expect(await trx.revision()).toBe(revision - 1);
            const audit = [entry({ detail: { revision } })];
            await trx.write({ ...setting(revision, { a: String(revision) }), audit });
          });
      };
      const others = async (): Promise<void> => {
        for (let at = 0; at < 20; at += 1) await other.audit.append([entry({ method: "push" })]);
      };
      await Promise.all([writes(), others()]);
      const rows = await allRows(store.audit);
      expect(rows).toHaveLength(40);
      expectChain(rows);
    });

    test("a page has what fits all filters", async () => {
      await store.audit.append([
        entry({ time: 1, actor: "backup/0123456789ab", tokenId: "0123456789ab" }),
        entry({ time: 2, actor: "backup_2", method: "push", subjects: ["S3_key", "x"] }),
        entry({ time: 3, actor: "backup", outcome: "UNAUTHENTICATED", subjects: ["s3%"] }),
      ]);
      const found = async (filter: object): Promise<number[]> => {
        const range = { after: 0, before: 9, limit: 9, newestFirst: true };
        return (await store.audit.rows({ ...range, ...filter })).map(({ seq }) => seq);
      };
      expect(await found({})).toEqual([3, 2, 1]);
      expect(await found({ newestFirst: false, limit: 2 })).toEqual([1, 2]);
      expect(await found({ after: 1, before: 3 })).toEqual([2]);
      expect(await found({ actor: "backup" })).toEqual([3, 1]);
      expect(await found({ actor: "backu" })).toEqual([]);
      expect(await found({ tokenId: "0123456789ab" })).toEqual([1]);
      expect(await found({ methods: ["push", "none"] })).toEqual([2]);
      expect(await found({ outcomes: ["UNAUTHENTICATED"] })).toEqual([3]);
      expect(await found({ since: 2, until: 3 })).toEqual([2]);
      expect(await found({ subjectPart: "3%" })).toEqual([3]);
      expect(await found({ subjectPart: "_key" })).toEqual([2]);
    });

    test("the oldest rows are forgotten by count and age, the newest stays, and the chain goes on", async () => {
      await store.audit.append(Array.from({ length: 10 }, (_, at) => entry({ time: at + 1 })));
      const before = await allRows(store.audit);
      expect(await store.audit.forget({ count: 8, notBefore: 0 }, 100)).toBe(2);
      expect(await store.audit.floor()).toEqual({ seq: 2, hash: before[1]?.hash });
      expect(await store.audit.forget({ count: 1e9, notBefore: 5 }, 1)).toBe(1);
      expect(await store.audit.forget({ count: 1e9, notBefore: 5 }, 100)).toBe(1);
      expect(await allRows(store.audit)).toEqual(before.slice(4));
      expect(await store.audit.forget({ count: 0, notBefore: 1e15 }, 100)).toBe(5);
      expect(await store.audit.forget({ count: 0, notBefore: 1e15 }, 100)).toBe(0);
      await store.audit.append([entry()]);
      const rows = await allRows(store.audit);
      expect(rows.map(({ seq }) => seq)).toEqual([10, 11]);
      expectChain(rows, await store.audit.floor());
    });

    test("sites and tokens that change are in it", async () => {
      await store.access.transact((trx) => trx.write({ audit: [entry({ subjects: ["p"] })] }));
      await store.sites.delete("none", [entry({ subjects: ["site"] })]);
      const rows = await allRows(store.audit);
      expect(rows.map(({ subjects }) => subjects)).toEqual([["p"], ["site"]]);
      expectChain(rows);
    });
  });
}
