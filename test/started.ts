import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";

type Ending = { stop(): unknown } | { close(): unknown } | { remove(): unknown };

/**
 * Value that all tests of a file or block share: started before them and ended after them. It has the
 * members of the started value as long as that runs.
 *
 * @param limit time limit of the start in milliseconds; default: that of every hook.
 */
export function startedForAll<T extends Ending>(start: () => T | Promise<T>, limit?: number): T {
  return started(start, (run) => beforeAll(run, limit), afterAll);
}

/** The same, started for each test. */
export function startedForEach<T extends Ending>(start: () => T | Promise<T>): T {
  return started(start, beforeEach, afterEach);
}

type Hook = (run: () => Promise<void>) => void;

function started<T extends Ending>(start: () => T | Promise<T>, before: Hook, after: Hook): T {
  let running: T | undefined;
  before(async () => {
    running = await start();
  });
  after(async () => {
    const ended = running;
    running = undefined;
    if (ended === undefined) return;
    if ("stop" in ended) await ended.stop();
    else await ("close" in ended ? ended.close() : ended.remove());
  });
  const current = (): T => {
    if (running === undefined) throw new Error("it is used outside the tests it is started for");
    return running;
  };
  return new Proxy({} as T, {
    get: (_, name) => {
      const value: unknown = Reflect.get(current(), name);
      return typeof value === "function" ? value.bind(running) : value;
    },
    set: (_, name, value) => Reflect.set(current(), name, value),
  });
}
