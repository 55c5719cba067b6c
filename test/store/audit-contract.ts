/** Contract of the audit in every database. */
import { describe, expect, test } from "vitest";
import { createVerifier, expectedHash } from "../../src/audit/chain.ts";
import type { AuditEntry, AuditPosition, AuditRow, AuditStore } from "../../src/audit/store.ts";
import { START } from "../../src/database/tables.ts";
import type { Store } from "../../src/store/stores.ts";
import { type PlaceOf, placeForEach } from "./place.ts";
import { changed, setting } from "./sample.ts";
import { storedSite } from "./site-contract.ts";

/** An entry with defaults for members that a test does not need. */
export function entry(members: Partial<AuditEntry> = {}): AuditEntry {
  return {
    time: 1_700_000_000_000,
    actor: "admin",
    tokenId: "",
    transport: "rest",
    method: "SaveSettings",
    peer: "127.0.0.1",
    requestId: "r1",
    outcome: "OK",
    subjects: ["a"],
    detail: {},
    ...members,
  };
}

/** All kept rows, oldest first. */
export function allRows(store: AuditStore): Promise<readonly AuditRow[]> {
  return store.rows({ after: 0, before: 1e9, limit: 1e6, newestFirst: false });
}

/** Checks that each row follows the previous one, and is unchanged. */
export function expectChain(rows: readonly AuditRow[], before = START): void {
  const wrong = rows.find((row, at) => {
    const { seq, hash } = rows[at - 1] ?? before;
    return row.seq !== seq + 1 || row.prev !== hash || row.hash !== expectedHash(row);
  });
  expect(wrong).toBeUndefined();
}

/** @returns the problem of the chain, from its beginning or from a checkpoint on. */
export async function problemOf(
  store: AuditStore,
  checkpoint?: AuditPosition,
): Promise<string | undefined> {
  const verifier = createVerifier(await store.floor(), checkpoint);
  for (const row of await allRows(store)) {
    const problem = verifier.add(row);
    if (problem !== undefined) return problem;
  }
  return verifier.end();
}

/** Checks that the audit is one chain with each of these revisions once, in order. */
export async function expectAudited(store: AuditStore, revisions: readonly number[]) {
  const rows = await allRows(store);
  expectChain(rows);
  const details = rows.map(({ detail }) => JSON.parse(detail) as { revision?: number });
  expect(details.flatMap(({ revision }) => revision ?? [])).toEqual(revisions);
}

/** A database whose rows a test may change outside of every store. */
export interface AuditPlace extends PlaceOf<Store> {
  /** Runs statements without the rules of the store. */
  run(statements: string): Promise<unknown>;
}

export function describeAudit(name: string, newPlace: () => Promise<AuditPlace>): void {
  describe(name, () => {
    const { place, open, store } = placeForEach(newPlace);

    test("values that are sealed again have their row in the same transaction", async () => {
      await store.transact((trx) => trx.write(setting(1, { a: "clear" })));
      const before = (await store.audit.head()).seq;
      const sealed = { body: "sealed" };
      await store.rewrite((settings) => ({
        records: settings.map((one) => ({ ...one, ...sealed })),
        audit: [entry({ method: "seal", subjects: settings.map(({ key }) => key) })],
      }));
      expect((await store.load()).records).toMatchObject([sealed]);
      const rows = await allRows(store.audit);
      expect(rows.slice(before)).toMatchObject([{ method: "seal", subjects: ["a"] }]);
      expectChain(rows);
      const refused = store.rewrite(() => {
        throw new Error("no");
      });
      await expect(refused).rejects.toThrow("no");
      expect(await allRows(store.audit)).toHaveLength(rows.length);
    });

    test("hashes of secrets are replaced in history, sites and mounts, with a row in the same transaction", async () => {
      const hash = (name: string) => `hmac1:${name.repeat(43)}`;
      const FORM = "hmac2:0123456789ab:";
      const secret = (revision: number, key: string, oldHash: string, newHash: string) => {
        const { revisions, ...rest } = setting(revision, { [key]: "sealed" });
        const changes = [
          changed({ key, oldHashes: { p: oldHash }, newHashes: { p: newHash, q: newHash } }),
        ];
        return { ...rest, revisions: revisions.map((one) => ({ ...one, changes })) };
      };
      await store.transact((trx) => trx.write(secret(1, "a", hash("0"), hash("1"))));
      await store.transact((trx) => trx.write(secret(2, "a", hash("1"), `${FORM}${hash("2")}`)));
      await store.transact((trx) => trx.write(setting(3, { b: "hmac1:b" })));
      await store.sites.insert(storedSite("s1"), []);
      const known = { refused: { a: { hash: hash("3"), reason: '"hmac1:no hash"' } } };
      const state = { siteId: "s1", version: 0, appliedRevision: 3, state: JSON.stringify(known) };
      await store.sites.record([{ state, events: [], audit: [] }]);
      const mount = (form: string) => ({
        siteId: "s1",
        name: "films",
        state: JSON.stringify({ before: form + "4".repeat(43) }),
      });
      await store.mountStates.write([mount("hmac1:")]);
      const before = (await store.audit.head()).seq;
      const rehash = {
        form: FORM,
        renew: (old: string) => FORM + old.slice("hmac1:".length),
        audit: (hashes: number) => [entry({ method: "rehash", detail: { hashes } })],
      };
      const of = (p: string, q: string) => ({ oldHashes: { p }, newHashes: { p: q, q } });
      const both = await Promise.all([store.rehash(rehash), (await open()).rehash(rehash)]);
      expect(both.sort()).toEqual([0, 6]);
      expect(await store.commits(0, 3, 3)).toMatchObject([
        { changes: [of(FORM + "0".repeat(43), FORM + "1".repeat(43))] },
        { changes: [of(FORM + "1".repeat(43), `${FORM}${hash("2")}`)] },
        { changes: [{ oldHashes: null, newHashes: null, newBody: "hmac1:b" }] },
      ]);
      const [now] = await store.sites.states();
      known.refused.a.hash = FORM + "3".repeat(43);
      expect(now).toMatchObject({ version: 2, state: JSON.stringify(known) });
      expect(await store.mountStates.list()).toEqual([mount(FORM)]);
      // Written by a process with the earlier state.
      const stale = { ...state, version: 1 };
      expect(await store.sites.record([{ state: stale, events: [], audit: [] }])).toEqual([
        undefined,
      ]);
      const rows = await allRows(store.audit);
      expect(rows.slice(before)).toMatchObject([{ method: "rehash", detail: '{"hashes":6}' }]);
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

    test("rows are read as written and follow each other", async () => {
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

    test("text that databases do not accept is left out, and long text is cut", async () => {
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

    test("rows of changes are written in the same transaction, or not at all", async () => {
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

    test("several processes write one chain", async () => {
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

    test("changes and other rows of several processes are one chain", async () => {
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

    test("a page has the rows that match all filters", async () => {
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

    /** Result of a verification of the kept rows. */
    const verified = (checkpoint?: AuditPosition) => problemOf(store.audit, checkpoint);
    /**
     * Deletes rows from the beginning up to one, like an attacker with write access to the
     * database.
     */
    const take = (last: AuditRow | undefined) =>
      place.run(
        `delete from audit where seq <= ${last?.seq};
         insert into meta (name, value) values ('audit_floor', '${last?.seq} ${last?.hash}')
           on conflict (name) do update set value = excluded.value`,
      );
    const HOUR = 3_600_000;
    const hours = (count: number) =>
      Array.from({ length: count }, (_, at) => entry({ time: at * HOUR }));

    test("the oldest rows are deleted by count and age, with a row about it, and the chain continues", async () => {
      await store.audit.append(hours(10));
      const before = await allRows(store.audit);
      const forget = (count: number, notBefore: number, step = 100) =>
        store.audit.forget({ count, notBefore }, step, 99 * HOUR);
      expect(await forget(10, 0)).toBe(0);
      // One more than two, for the row about it.
      expect(await forget(8, 0)).toBe(3);
      expect(await store.audit.floor()).toEqual({ seq: 3, hash: before[2]?.hash });
      expect((await allRows(store.audit)).at(-1)).toMatchObject({
        seq: 11,
        time: 99 * HOUR,
        actor: "mooring",
        method: "forget",
        subjects: ["audit"],
        detail: '{"named":0,"found":0,"floor":3}',
      });
      expect(await forget(8, 0)).toBe(0);
      expect(await forget(1e9, 6 * HOUR, 1)).toBe(1);
      expect(await forget(1e9, 6 * HOUR)).toBe(2);
      // Due for less than an hour, and few.
      expect(await forget(1e9, 7 * HOUR)).toBe(0);
      expect((await allRows(store.audit)).map(({ seq }) => seq)).toEqual([7, 8, 9, 10, 11, 12, 13]);
      expect(await verified()).toBeUndefined();
      expect(await forget(0, 1e15)).toBe(6);
      expect(await forget(0, 1e15)).toBe(0);
      await store.audit.append([entry()]);
      const rows = await allRows(store.audit);
      expect(rows.map(({ seq }) => seq)).toEqual([13, 14, 15]);
      expectChain(rows, await store.audit.floor());
      expect(await verified(await store.audit.head())).toBeUndefined();
    });

    test("deletion of rows from its beginning is detected, also after regular deletions", async () => {
      const other = await open();
      await store.audit.append(hours(30));
      await Promise.all(
        [store, other].map(({ audit }) => audit.forget({ count: 20, notBefore: 0 }, 100, 0)),
      );
      expect(await verified()).toBeUndefined();
      const { seq } = await store.audit.floor();
      const [cut] = (await allRows(store.audit)).filter((row) => row.seq === seq + 5);
      await take(cut);
      const head = await store.audit.head();
      const missing = `row ${seq + 1} is missing: the audit begins with row ${seq + 6}, and no row records`;
      for (const checkpoint of [undefined, head])
        expect(await verified(checkpoint)).toContain(missing);
      await store.audit.append(hours(40));
      expect(await verified()).toContain(missing);
      expect(await store.audit.forget({ count: 30, notBefore: 0 }, 100, 0)).toBeGreaterThan(0);
      expect(await verified(await store.audit.head())).toContain(
        `row ${seq + 1} was removed before row ${(await store.audit.head()).seq} was written`,
      );
    });

    test("changes of sites and tokens are recorded", async () => {
      await store.access.transact((trx) => trx.write({ audit: [entry({ subjects: ["p"] })] }));
      await store.sites.delete("none", [entry({ subjects: ["site"] })]);
      const rows = await allRows(store.audit);
      expect(rows.map(({ subjects }) => subjects)).toEqual([["p"], ["site"]]);
      expectChain(rows);
    });
  });
}
