import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { checkpointText, readCheckpoint, startCheckpoints } from "../../src/audit/checkpoint.ts";
import type { PublishedPosition } from "../../src/audit/store.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { entry } from "../store/audit-contract.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

test("one of several processes publishes: at first, after a thousand rows, and each hour with rows", async () => {
  const { audit, close } = await openSqliteStore(":memory:");
  onTestFinished(close);
  const published: string[] = [];
  const clock = { now: 1_700_000_000_000 };
  const both = [1, 2].map(() =>
    startCheckpoints({
      store: audit,
      interval: SECOND,
      now: () => clock.now,
      onPublished: (text) => published.push(text),
      onError: (error) => expect.unreachable(String(error)),
    }),
  );
  onTestFinished(() => {
    for (const { stop } of both) stop();
  });
  const rows = async (count: number): Promise<void> =>
    audit.append(Array.from({ length: count }, () => entry()));
  const after = async (time = SECOND): Promise<number[]> => {
    clock.now += time;
    await vi.advanceTimersByTimeAsync(2 * SECOND);
    return published.map((text) => readCheckpoint(text)?.seq ?? -1);
  };
  expect(await after()).toEqual([]);
  await rows(1);
  expect(await after()).toEqual([1]);
  await rows(999);
  expect(await after()).toEqual([1]);
  await rows(1);
  expect(await after()).toEqual([1, 1_001]);
  expect(await after(HOUR)).toEqual([1, 1_001]);
  await rows(2);
  expect(await after()).toEqual([1, 1_001, 1_003]);
  const head = await audit.head();
  expect(readCheckpoint(published.at(-1) ?? "")).toEqual({
    ...head,
    origin: audit.origin,
    time: expect.any(Number),
  });
  await vi.advanceTimersByTimeAsync(2 * SECOND);
  for (const { published: last, newest } of both)
    expect([last()?.seq, newest()]).toEqual([1_003, 1_003]);
});

test("the last checkpoint is read from the database only at first and when one is due", async () => {
  const state = { seq: 1, now: 0 };
  let last: PublishedPosition = { seq: 1, hash: "", time: 0 };
  const published = vi.fn(async () => last);
  const checkpoints = startCheckpoints({
    store: {
      origin: "o",
      head: async () => ({ seq: state.seq, hash: "00".repeat(32) }),
      published,
      publish: async (_before, next) => {
        last = next;
        return true;
      },
    },
    interval: SECOND,
    now: () => state.now,
    onPublished: () => undefined,
    onError: (error) => expect.unreachable(String(error)),
  });
  onTestFinished(checkpoints.stop);
  const readsAfter = async (seq: number, now: number): Promise<number> => {
    Object.assign(state, { seq, now });
    await vi.advanceTimersByTimeAsync(2 * SECOND);
    return published.mock.calls.length;
  };
  expect(await readsAfter(1, 0)).toBe(1);
  expect(await readsAfter(2, HOUR - 1)).toBe(1);
  expect(await readsAfter(2, HOUR)).toBe(2);
  expect(await readsAfter(1_002, HOUR)).toBe(3);
});

test("an unreachable database is reported once", async () => {
  const { audit, close } = await openSqliteStore(":memory:");
  const reports: unknown[] = [];
  const publishing = startCheckpoints({
    store: audit,
    interval: SECOND,
    now: Date.now,
    onPublished: () => undefined,
    onError: (error) => reports.push(error),
  });
  onTestFinished(publishing.stop);
  await close();
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  await expect.poll(() => reports).toHaveLength(1);
});

test("a checkpoint is read as written, and any other text is refused", () => {
  const checkpoint = { origin: "abc", seq: 7, hash: "0f".repeat(32), time: 1_700_000_000_000 };
  const text = checkpointText(checkpoint);
  expect(text).toBe(`abc\n7\n${"Dw8P".repeat(10)}Dw8=\n2023-11-14T22:13:20.000Z\n`);
  expect(readCheckpoint(text)).toEqual(checkpoint);
  expect(readCheckpoint(text.replaceAll("\n", "\r\n"))).toEqual(checkpoint);
  expect(readCheckpoint(`${text}\n\u2014 somebody c2lnbmF0dXJl\n`)).toEqual(checkpoint);
  expect(readCheckpoint(text.trimEnd())).toEqual(checkpoint);
  const wrong = [
    "",
    "abc",
    text.replace("abc", ""),
    "abc\n7\n",
    text.replace("7", "-7"),
    text.replace("7", "07"),
    text.replace("Dw8P", ""),
    text.replace("2023", "x"),
    `${text}more\n`,
  ];
  for (const one of wrong) expect(readCheckpoint(one), one).toBeUndefined();
});
