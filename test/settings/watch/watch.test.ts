import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { FLAG } from "../../../src/settings/item.ts";
import { SETTINGS } from "../../../src/settings/kind.ts";
import { MASK } from "../../../src/settings/value.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { type Parts, save, tester, testParts } from "../parts.ts";
import { broken } from "./guarantee.ts";
import {
  publicRecorded,
  readUntil,
  recorded,
  streamsOf,
  truthOf,
  type WatchOptions,
} from "./stream.ts";

afterEach(() => vi.useRealTimers());

const newPath = temporaryPaths();

/** Streams that end with the test. */
function openStreams(parts: Parts) {
  const streams = streamsOf(parts);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  return {
    stop,
    settings: (options: WatchOptions = {}) =>
      streams.settings(options, stop.signal)[Symbol.asyncIterator](),
    publicSettings: (options: WatchOptions = {}) =>
      streams.publicSettings(options, stop.signal)[Symbol.asyncIterator](),
  };
}

type Stream = ReturnType<ReturnType<typeof openStreams>["settings"]>;
type PublicStream = ReturnType<ReturnType<typeof openStreams>["publicSettings"]>;

const next = async (stream: Stream) => recorded((await stream.next()).value);
const publicNext = async (stream: PublicStream) => publicRecorded((await stream.next()).value);

/** A site with this number of revisions, each of two keys. */
async function written(count: number, path = newPath()): Promise<Parts> {
  const parts = await testParts(path);
  for (let at = 1; at <= count; at += 1) await save(parts, { k1: `${at}`, [`k${at + 1}`]: "x" });
  return parts;
}

describe("a stream of the settings", () => {
  test("begins with all of them, then has each change with its actor", async () => {
    const parts = await written(2);
    const stream = openStreams(parts).settings();
    const first = (await stream.next()).value;
    expect(first.revision).toBe(2n);
    expect(first.event.case).toBe("snapshot");
    expect(first.event.value.settings).toHaveLength(parts.ledger.snapshot().of(SETTINGS).size);
    await parts.settings.save([{ key: "k1", value: "new" }], { ...tester, actor: "ann" });
    expect((await stream.next()).value).toMatchObject({
      revision: 3n,
      event: {
        case: "change",
        value: { actor: "ann", changes: [{ key: "k1", oldValue: "2", newValue: "new" }] },
      },
    });
  });

  test("begins after a requested revision, without a snapshot", async () => {
    const parts = await written(5);
    const { settings } = openStreams(parts);
    const history = await readUntil(settings({ after: 2 }), recorded, 5);
    expect(history.map(({ kind, revision }) => [kind, revision])).toEqual([
      ...[3, 4, 5].map((revision) => ["change", revision]),
    ]);
  });

  test("of some keys has only these, and bookmarks for other changes", async () => {
    const parts = await written(2);
    const stream = openStreams(parts).settings({ keys: ["k2", "site_title"] });
    const first = await next(stream);
    expect(Object.keys(first.values)).toEqual(["site_title", "k2"]);
    await save(parts, { k1: "other" });
    expect(await next(stream)).toEqual({ kind: "bookmark", revision: 3, values: {} });
    await save(parts, { k1: "other again", k2: "mine" });
    expect(await next(stream)).toEqual({ kind: "change", revision: 4, values: { k2: "mine" } });
  });

  test("never has the value of a secret", async () => {
    const parts = await testParts(newPath());
    await save(parts, { aria2_secret: "hidden-one" });
    const { settings, publicSettings } = openStreams(parts);
    const streams = [settings(), settings({ after: 0 }), settings({ keys: ["aria2_secret"] })];
    const open = publicSettings();
    const seen: unknown[] = [];
    for (const stream of streams) seen.push(await next(stream));
    seen.push(await publicNext(open));
    await save(parts, { aria2_secret: "hidden-two" });
    const { token } = await parts.settings.resetToken(tester);
    for (const stream of streams) seen.push(...(await readUntil(stream, recorded, 3)));
    seen.push(...(await readUntil(open, publicRecorded, 3)));
    const text = JSON.stringify(seen);
    expect(text).not.toMatch(/hidden/);
    expect(text).not.toContain(token);
    expect(text).toContain(MASK);
  });

  test("has a deleted setting as deleted", async () => {
    const parts = await testParts(newPath());
    await parts.settings.save([{ key: "k1", value: "1", flag: FLAG.deprecated }], tester);
    const stream = openStreams(parts).settings({ after: 1 });
    await parts.settings.delete("k1", tester);
    expect(await next(stream)).toEqual({ kind: "change", revision: 2, values: { k1: null } });
  });
});

describe("a stream of the public settings", () => {
  test("begins with all of them, then has their changes", async () => {
    const parts = await testParts(newPath());
    const stream = openStreams(parts).publicSettings();
    const first = await publicNext(stream);
    expect(first.values).toEqual(parts.publicReads.settings(parts.publicReads.snapshot()));
    await save(parts, { site_title: "Harbour", aria2_secret: "s" });
    expect(await publicNext(stream)).toEqual({
      kind: "change",
      revision: 1,
      values: { site_title: "Harbour" },
    });
    await save(parts, { aria2_secret: "t", mine: "private" });
    expect(await publicNext(stream)).toMatchObject({ kind: "bookmark", revision: 2 });
  });

  test("includes a custom setting while it is public, for any key", async () => {
    const parts = await testParts(newPath());
    const stream = openStreams(parts).publicSettings({ after: 0 });
    const steps = [
      [FLAG.private, "1", undefined],
      [FLAG.public, "1", "1"],
      [FLAG.readonly, "1", "1"],
      [FLAG.private, "1", null],
      [FLAG.public, "2", "2"],
      [FLAG.deprecated, "2", null],
    ] as const;
    for (const key of ["mine", "__proto__", "constructor"])
      for (const [flag, value, expected] of steps) {
        await parts.settings.save([{ key, value, flag }], tester);
        const { kind, values } = await publicNext(stream);
        expect(kind).toBe(expected === undefined ? "bookmark" : "change");
        expect(Object.entries(values)).toEqual(expected === undefined ? [] : [[key, expected]]);
      }
  });

  test("has the same events for all readers", async () => {
    const parts = await testParts(newPath());
    const { publicSettings } = openStreams(parts);
    const [a, b] = [publicSettings({ after: 0 }), publicSettings({ after: 0 })];
    await save(parts, { site_title: "x" });
    expect((await a.next()).value).toBe((await b.next()).value);
  });
});

describe("the guarantees, with many writers and readers in one process", () => {
  test("ordered, unique, reliable, atomic, bookmarked", async () => {
    const parts = await written(3);
    const { settings } = openStreams(parts);
    const options: WatchOptions[] = [{}, { after: 0 }, { after: 2 }, {}, { after: 3 }];
    const last = 3 + 8 * 25;
    const histories = options.map((one) => readUntil(settings(one), recorded, last));
    const writers = Array.from({ length: 8 }, async (_, which) => {
      for (let at = 0; at < 25; at += 1) {
        await save(parts, { [`k${which}`]: `${which}-${at}`, k1: `${at}-${which}` });
        if (at % 5 === which % 5) await setImmediate();
      }
    });
    await Promise.all(writers);
    const truth = await truthOf(parts.store);
    for (const history of await Promise.all(histories)) expect(broken(history, truth)).toEqual([]);
  });

  test("also for public streams and those of some keys: no change of them is missing", async () => {
    const parts = await testParts(newPath());
    const { settings, publicSettings } = openStreams(parts);
    const some = readUntil(settings({ keys: ["k1"] }), recorded, 100);
    const open = readUntil(publicSettings(), publicRecorded, 100);
    for (let at = 1; at <= 100; at += 1)
      await save(
        parts,
        at % 3 === 0 ? { k1: `${at}` } : at % 3 === 1 ? { site_title: `${at}` } : { k2: `${at}` },
      );
    const truth = await truthOf(parts.store);
    const only = (...keys: readonly string[]) =>
      truth.filter(({ values }) => keys.some((key) => key in values));
    expect(broken(await some, only("k1"))).toEqual([]);
    expect(broken(await open, only("site_title"))).toEqual([]);
  });

  test("resumable: a client that reconnects has missed nothing", async () => {
    const path = newPath();
    const parts = await written(1, path);
    const history = await readUntil(openStreams(parts).settings(), recorded, 1);
    for (let round = 0; round < 20; round += 1) {
      const stop = new AbortController();
      const after = history.at(-1)?.revision ?? 0;
      const stream = streamsOf(parts).settings({ after }, stop.signal)[Symbol.asyncIterator]();
      const saves = Array.from({ length: 5 }, (_, at) => save(parts, { k1: `${round}.${at}` }));
      history.push(...(await readUntil(stream, recorded, after + 1 + (round % 5))));
      stop.abort();
      await Promise.all(saves);
    }
    expect(broken(history, await truthOf(parts.store))).toEqual([]);
  });

  test("bookmarked: progress is sent while nothing changes", async () => {
    const parts = await testParts(newPath(), { idle: 1 });
    await save(parts, { k1: "1" });
    const { settings, publicSettings } = openStreams(parts);
    for (const stream of [settings({ after: 1 }), settings({ after: 1, keys: ["k9"] })])
      for (let times = 0; times < 3; times += 1)
        expect(await next(stream)).toEqual({ kind: "bookmark", revision: 1, values: {} });
    expect(await publicNext(publicSettings({ after: 1 }))).toMatchObject({ kind: "bookmark" });
  });
});
