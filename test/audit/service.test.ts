import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { etagOfRow, readRowEtag } from "../../src/audit/row-etag.ts";
import type { AuditQuery } from "../../src/audit/service.ts";
import type { AuditEntry, AuditRow } from "../../src/audit/store.ts";
import type { Progress } from "../../src/audit/tail.ts";
import { entry } from "../store/audit-contract.ts";
import { opened } from "./opened.ts";

const ALL: AuditQuery = { pageSize: 0, after: undefined, from: undefined };

/** All pages, read as a client does. */
async function pages(service: Awaited<ReturnType<typeof opened>>["service"], query: AuditQuery) {
  const found: number[][] = [];
  for (let from = query.from; ; ) {
    const { rows, next } = await service.list({ ...query, from });
    found.push(rows.map(({ seq }) => seq));
    if (next === undefined) return found;
    from = next;
  }
}

const numbered = (count: number, members: (seq: number) => Partial<AuditEntry> = () => ({})) =>
  Array.from({ length: count }, (_, at) => ({ time: at + 1, ...members(at + 1) }));

test("pages begin with the newest row, or with the oldest", async () => {
  const { service } = await opened(numbered(5));
  expect(await pages(service, { ...ALL, pageSize: 2 })).toEqual([[5, 4], [3, 2], [1]]);
  expect(await pages(service, { ...ALL, pageSize: 2, after: 0 })).toEqual([[1, 2], [3, 4], [5]]);
  expect(await pages(service, { ...ALL, pageSize: 9, after: 3 })).toEqual([[4, 5]]);
  expect(await pages(service, { ...ALL, after: 5 })).toEqual([[]]);
  expect(await pages(service, { ...ALL, after: 99 })).toEqual([[]]);
  expect(await pages(service, { ...ALL, after: 2 ** 63 })).toEqual([[]]);
  const { service: empty } = await opened();
  expect(await empty.list(ALL)).toEqual({
    rows: [],
    next: undefined,
    oldest: 0,
    floorHash: "0".repeat(64),
  });
});

test("a pattern matches whole names only, and a page may be empty before the last one", async () => {
  const { service } = await opened(
    numbered(25_000, (seq) => ({
      subjects: seq === 3 ? ["x", "s3_key"] : seq === 24_999 ? ["my_s3_key", "s3"] : ["other"],
    })),
  );
  for (const [subject, seqs] of [
    ["s3_*", [3]],
    ["s3*", [24_999, 3]],
    ["*3_k*", [24_999, 3]],
    ["S3_*", []],
    ["s3_key*x", []],
    ["x", [3]],
  ] as const) {
    const found = await pages(service, { ...ALL, subject });
    expect(found.flat(), subject).toEqual(seqs);
    expect(found.length).toBe(3);
  }
  expect((await pages(service, { ...ALL, after: 0, subject: "s3*" })).flat()).toEqual([3, 24_999]);
});

test("the list reports how much was deleted and the oldest row that is kept", async () => {
  const { service, store } = await opened(numbered(10));
  await store.forget({ count: 5, notBefore: 0 }, 100, 0);
  const { hash } = await store.floor();
  expect(await service.list(ALL)).toMatchObject({ oldest: 7, floorHash: hash, next: undefined });
  expect(await pages(service, { ...ALL, pageSize: 3 })).toEqual([
    [11, 10, 9],
    [8, 7],
  ]);
  expect(await pages(service, { ...ALL, after: 0 })).toEqual([[7, 8, 9, 10, 11]]);
  expect(await pages(service, { ...ALL, after: 6 })).toEqual([[7, 8, 9, 10, 11]]);
  await expect(service.list({ ...ALL, after: 5 })).rejects.toMatchObject({ code: Code.OutOfRange });
  await expect(service.list({ ...ALL, pageSize: -1 })).rejects.toThrow(/page_size/);
  expect(await service.checkpoint()).toMatchObject({
    ...(await store.head()),
    origin: store.origin,
    time: 5_000,
    oldest: 7,
  });
});

test("a watcher gets each row once, in order, after the row where it begins", async () => {
  const { store, watch } = await opened(numbered(3));
  const end = new AbortController();
  const seqs = ({ value }: IteratorResult<Progress>) =>
    [value.seq, ...value.rows.map(({ seq }: { seq: number }) => seq)] as number[];
  const now = watch(undefined, {}, end);
  const [before, some] = [watch({ seq: 1 }), watch({ seq: 0 }, { methods: ["push"] })];
  expect(seqs(await now.next())).toEqual([3]);
  expect(seqs(await before.next())).toEqual([3, 2, 3]);
  expect(seqs(await some.next())).toEqual([3]);
  await store.append([entry(), entry({ method: "push" })]);
  expect(seqs(await now.next())).toEqual([5, 4, 5]);
  expect(seqs(await before.next())).toEqual([5, 4, 5]);
  expect(seqs(await some.next())).toEqual([5, 5]);
  // More than one batch.
  await store.append(numbered(450).map(entry));
  const [received, until] = [[] as number[], 455];
  for (let at = 0; at < until; ) {
    const { value } = await now.next();
    at = value.seq;
    received.push(...value.rows.map(({ seq }: { seq: number }) => seq));
  }
  expect(received).toEqual(Array.from({ length: 450 }, (_, at) => at + 6));
  end.abort();
  expect(await now.next()).toMatchObject({ done: true });
});

test("a waiting watcher also gets rows that another read found", async () => {
  const { store, watch } = await opened(numbered(2), { interval: 1e6 });
  const first = watch({ seq: 2 });
  await first.next();
  const waiting = first.next();
  await store.append([entry()]);
  expect(await watch({ seq: 2 }).next()).toMatchObject({ value: { seq: 3 } });
  expect(await waiting).toMatchObject({ value: { seq: 3 } });
});

test("a watcher gets empty messages while there are no rows", async () => {
  const { store, watch } = await opened(numbered(2), { idle: 5 });
  const head = await store.head();
  const watching = watch({ seq: 2 });
  for (let times = 0; times < 3; times += 1)
    expect(await watching.next()).toEqual({ done: false, value: { ...head, rows: [] } });
  await watching.return?.();
});

test("a watcher of a deleted or future row is refused, and one of a stopping service ends", async () => {
  const { service, store, watch } = await opened(numbered(10));
  await store.forget({ count: 5, notBefore: 0 }, 100, 0);
  await expect(watch({ seq: 5 }).next()).rejects.toMatchObject({ code: Code.OutOfRange });
  await expect(watch({ seq: 12 }).next()).rejects.toThrow("row 12 of the audit does not exist yet");
  const watching = watch();
  await watching.next();
  const next = watching.next();
  service.endStreams();
  await expect(next).rejects.toMatchObject({ code: Code.Unavailable });
});

test.each([
  ["a newer row, read from memory", 12],
  ["an older row, read from the store", 4],
  ["the newest deleted row", 2],
])(
  "a watcher resumes after %s by its etag, and not in a database with other rows",
  async (_, seq) => {
    const { store, watch } = await opened(numbered(10));
    const other = await opened(numbered(10));
    await watch({ seq: 0 }).next();
    for (const each of [store, other.store])
      await each.append([entry({ actor: each === store ? "ann" : "bob" }), entry()]);
    const rows = await store.rows({ after: 0, before: 13, limit: 20, newestFirst: false });
    const etag = etagOfRow(rows[seq - 1] as AuditRow);
    if (seq === 2) await store.forget({ count: 10, notBefore: 0 }, 2, 0);
    const { value } = await watch(readRowEtag(etag)).next();
    expect(value.rows.map((row: AuditRow) => row.seq)[0] ?? value.seq).toBe(
      seq === 12 ? 12 : seq + 1,
    );
    expect(readRowEtag(etagOfRow(value))).toEqual({
      seq: value.seq,
      hash: value.hash.slice(0, 16),
    });
    const differs = /differs from that of the etag/;
    const wrong = readRowEtag(`${seq}.${"0".repeat(16)}`);
    await expect(watch(wrong).next()).rejects.toThrow(differs);
    if (seq === 12) await expect(other.watch(readRowEtag(etag)).next()).rejects.toThrow(differs);
  },
);

test.each(["", "12", "12.", "012.0123456789abcdef", "12.0123456789ABCDEF", "-1.0123456789abcdef"])(
  "%j is no etag of a row",
  (text) => expect(readRowEtag(text)).toBeUndefined(),
);
