import { expect, onTestFinished, test, vi } from "vitest";
import { type Collection, createView } from "../src/collection-view.ts";
import { createStateFeed, type StateFeedDeps } from "../src/state-feed.ts";
import { ticksDuring } from "./ticks-during.ts";

interface Item {
  readonly name: string;
}

type State = Collection<Item>;

function stateOf(...items: readonly Item[]): State {
  return { items: new Map(items.map((item) => [item.name, item])) };
}

/** A feed over `state.now`, which counts its reads and messages. */
function start(deps: Partial<StateFeedDeps<State>> = {}) {
  const count = { reads: 0, messages: 0 };
  const state = { now: stateOf({ name: "a" }) };
  const stopping = new AbortController();
  const feed = createStateFeed<State>({
    read: async () => {
      count.reads += 1;
      return state.now;
    },
    stopping: stopping.signal,
    ended: () => new Error("the service stops"),
    ...deps,
  });
  const view = createView<State, Item, { readonly changed: string[]; readonly removed: string[] }>(
    ({ changed, removed }) => {
      count.messages += 1;
      return { changed: changed.map(({ name }) => name), removed: removed.map(({ name }) => name) };
    },
  );
  const open = (shown = view) => {
    const ending = new AbortController();
    onTestFinished(() => ending.abort());
    const stream = feed.watch(shown, ending.signal)[Symbol.asyncIterator]();
    return { next: async () => (await stream.next()).value, end: () => ending.abort(), stream };
  };
  return { count, state, feed, view, open, stop: () => stopping.abort() };
}

test("all streams of a view share one read and one message of each state", async () => {
  const { count, state, feed, open } = start();
  const streams = Array.from({ length: 100 }, () => open());
  const first = await Promise.all(streams.map((stream) => stream.next()));
  expect(new Set(first)).toEqual(new Set([{ changed: ["a"], removed: [] }]));
  expect(new Set(first).size).toBe(1);
  const pending = streams.map((stream) => stream.next());
  state.now = stateOf({ name: "b" });
  feed.changed();
  const second = await Promise.all(pending);
  expect(new Set(second).size).toBe(1);
  expect(second[0]).toEqual({ changed: ["b"], removed: ["a"] });
  expect(count).toEqual({ reads: 2, messages: 2 });
});

test("many streams that begin at once leave the event loop to other work", async () => {
  const { open } = start();
  const streams = Array.from({ length: 20 }, () => open());
  const { ticks, result } = await ticksDuring(() =>
    Promise.all(streams.map((stream) => stream.next())),
  );
  expect(result.map((first) => first?.changed)).toEqual(streams.map(() => ["a"]));
  expect(ticks).toBeGreaterThanOrEqual(19);
});

test("a stream that ends before it begins sends nothing", async () => {
  const { open } = start();
  const streams = Array.from({ length: 3 }, () => open());
  const firsts = streams.map(async (stream) => {
    const first = await stream.next();
    for (const { end } of streams) end();
    return first;
  });
  const sent = (await Promise.all(firsts)).filter((first) => first !== undefined);
  expect(sent).toEqual([{ changed: ["a"], removed: [] }]);
});

test("a stream that opens after a change shows it, even while an earlier read runs", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  let now = stateOf({ name: "a" });
  const reads: State[] = [];
  const { feed, open } = start({
    read: async () => {
      const read = now;
      reads.push(read);
      if (reads.length === 1) await promise;
      return read;
    },
  });
  const early = open().next();
  now = stateOf({ name: "b" });
  feed.changed();
  const late = open().next();
  resolve();
  expect(await early).toEqual({ changed: ["a"], removed: [] });
  expect(await late).toEqual({ changed: ["b"], removed: [] });
});

test("a slow stream skips states and gets the difference to the newest one", async () => {
  const { state, feed, open } = start();
  const slow = open();
  const fast = open();
  await Promise.all([slow.next(), fast.next()]);
  const [a, b, c] = ["a", "b", "c"].map((name) => ({ name })) as [Item, Item, Item];
  state.now = stateOf(a, b);
  feed.changed();
  await fast.next();
  state.now = stateOf(b, c);
  feed.changed();
  await fast.next();
  expect(await slow.next()).toEqual({ changed: ["b", "c"], removed: ["a"] });
});

test("a burst of changes causes few reads, and its last state arrives", async () => {
  const { count, state, feed, open } = start();
  const stream = open();
  await stream.next();
  const seen: string[] = [];
  const reading = (async () => {
    while (!seen.includes("last")) seen.push(...((await stream.next())?.changed ?? ["last"]));
  })();
  for (let at = 0; at < 200; at += 1) {
    state.now = stateOf({ name: at === 199 ? "last" : String(at) });
    feed.changed();
    await Promise.resolve();
  }
  await reading;
  expect(count.reads).toBeLessThan(5);
});

test("a change that the view does not show sends nothing", async () => {
  const { state, feed, open } = start();
  const visible = createView<State, Item, readonly string[]>(
    ({ changed }) => changed.map(({ name }) => name),
    ({ name }) => name.startsWith("a"),
  );
  const ending = new AbortController();
  onTestFinished(() => ending.abort());
  const stream = feed.watch(visible, ending.signal)[Symbol.asyncIterator]();
  const whole = open();
  expect((await stream.next()).value).toEqual(["a"]);
  await whole.next();
  const a = state.now.items.get("a") as Item;
  const next = stream.next();
  state.now = stateOf(a, { name: "b" });
  feed.changed();
  await whole.next();
  state.now = stateOf(a, { name: "a2" });
  feed.changed();
  expect((await next).value).toEqual(["a2"]);
});

test("a polled state is read by one reader while there are streams, and by none without", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { count, state, open } = start({ interval: 5 });
  const streams = Array.from({ length: 50 }, () => open());
  await Promise.all(streams.map((stream) => stream.next()));
  const pending = streams.map((stream) => stream.next());
  const before = count.reads;
  await vi.advanceTimersByTimeAsync(50);
  expect(count.reads).toBeGreaterThan(before + 3);
  expect(count.messages).toBe(1);
  state.now = stateOf({ name: "b" });
  await vi.advanceTimersByTimeAsync(50);
  expect(new Set(await Promise.all(pending)).size).toBe(1);
  for (const stream of streams) stream.end();
  await Promise.all(streams.map(({ stream }) => stream.return?.()));
  const after = count.reads;
  await vi.advanceTimersByTimeAsync(50);
  expect(count.reads - after).toBeLessThanOrEqual(1);
});

test("a failed read ends the streams that need it, and the next stream reads again", async () => {
  let fails = true;
  const { open } = start({
    read: () => {
      if (fails) throw new Error("unreadable");
      return stateOf({ name: "a" });
    },
  });
  await expect(open().next()).rejects.toThrow("unreadable");
  fails = false;
  expect(await open().next()).toEqual({ changed: ["a"], removed: [] });
});

test("streams end with the given error when the service stops", async () => {
  const { open, stop } = start();
  const stream = open();
  await stream.next();
  const pending = stream.next();
  stop();
  await expect(pending).rejects.toThrow("the service stops");
});
