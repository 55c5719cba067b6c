import { expect, onTestFinished, test, vi } from "vitest";
import { createLastUse } from "../../src/access/last-use.ts";
import type { AccessStore, TokenUse } from "../../src/access/store.ts";

function recording(recordUses = vi.fn(async (_uses: readonly TokenUse[]) => undefined)) {
  const onError = vi.fn();
  const store = { recordUses } as Pick<AccessStore, "recordUses"> as AccessStore;
  return { recordUses, onError, lastUse: createLastUse(store, { interval: 3_600_000, onError }) };
}

test("the last use of each token is written once", async () => {
  const { lastUse, recordUses } = recording();
  lastUse.note("a", 1, "::1");
  lastUse.note("b", 2, "::2");
  lastUse.note("a", 3, "::3");
  await lastUse.close();
  expect(recordUses.mock.calls).toEqual([
    [
      [
        { tokenId: "a", time: 3, peer: "::3" },
        { tokenId: "b", time: 2, peer: "::2" },
      ],
    ],
  ]);
  await lastUse.close();
  expect(recordUses.mock.lastCall).toEqual([[]]);
});

test("at most 10,000 uses wait for a write", async () => {
  const { lastUse, recordUses } = recording();
  for (let at = 0; at < 10_001; at += 1) lastUse.note(`${at}`, at, "");
  lastUse.note("0", 20_000, "");
  await lastUse.close();
  const [uses] = recordUses.mock.lastCall ?? [];
  expect(uses).toHaveLength(10_000);
  expect(uses?.[0]).toEqual({ tokenId: "0", time: 20_000, peer: "" });
});

test("uses of a failed write are written by the next one, unless there are later ones", async () => {
  const failed = Promise.withResolvers<undefined>();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { lastUse, recordUses } = recording(
    vi.fn(async (_uses: readonly TokenUse[]) => undefined).mockReturnValueOnce(failed.promise),
  );
  lastUse.note("a", 1, "::1");
  lastUse.note("b", 1, "::1");
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  lastUse.note("b", 2, "::2");
  failed.reject(new Error("away"));
  await lastUse.close();
  expect(recordUses.mock.lastCall).toEqual([
    [
      { tokenId: "a", time: 1, peer: "::1" },
      { tokenId: "b", time: 2, peer: "::2" },
    ],
  ]);
  await lastUse.close();
  expect(recordUses.mock.lastCall).toEqual([[]]);
});

test("a use during a write is written by the next one", async () => {
  const written = Promise.withResolvers<undefined>();
  const { lastUse, recordUses } = recording(
    vi.fn(async (_uses: readonly TokenUse[]) => undefined).mockReturnValueOnce(written.promise),
  );
  lastUse.note("a", 1, "::1");
  const closing = lastUse.close();
  await expect.poll(() => recordUses).toHaveBeenCalledOnce();
  lastUse.note("a", 2, "::2");
  written.resolve(undefined);
  await closing;
  await lastUse.close();
  expect(recordUses.mock.lastCall).toEqual([[{ tokenId: "a", time: 2, peer: "::2" }]]);
});

test("a failed write at the end is reported", async () => {
  const { lastUse, onError } = recording(vi.fn(() => Promise.reject(new Error("full"))));
  lastUse.note("a", 1, "");
  await lastUse.close();
  expect(onError).toHaveBeenCalledWith(new Error("full"));
});

test("nothing is written after closing", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { lastUse, recordUses } = recording();
  lastUse.note("a", 1, "");
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  expect(recordUses.mock.calls[0]).toHaveLength(1);
  await lastUse.close();
  const { length } = recordUses.mock.calls;
  await vi.advanceTimersByTimeAsync(2 * 3_600_000);
  expect(recordUses.mock.calls).toHaveLength(length);
});
