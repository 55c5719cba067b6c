import { randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createPassphraseCipher } from "../src/archive/passphrase.ts";
import { createBoundedLock, type LockOptions } from "../src/bounded-lock.ts";
import { CHEAP } from "./archive/text.ts";
import { failureOf } from "./thrown.ts";

/** A lock, the names of finished work, and functions that run work and hold the lock. */
function start(maxWaiting = 8) {
  const lock = createBoundedLock(maxWaiting, () => new Error("full"));
  const done: string[] = [];
  const run = (name: string, options: LockOptions = {}): Promise<void> =>
    lock.run(async () => {
      await Promise.resolve();
      done.push(name);
    }, options);
  /** @returns a function that releases the lock. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void lock.run(() => promise);
    return resolve;
  };
  return { done, run, hold };
}

test("work of high priority runs before work that waits with a normal one", async () => {
  const { done, run } = start();
  await Promise.all([run("a"), run("b"), run("c"), run("first", { priority: "high" })]);
  expect(done).toEqual(["a", "first", "b", "c"]);
});

test("work that is cancelled while it waits does not run and takes no place", async () => {
  const { done, run, hold } = start(2);
  const release = hold();
  const gone = new AbortController();
  const { signal } = gone;
  const left = [run("a", { signal }), run("b", { signal })];
  await expect(run("too much")).rejects.toThrow("full");
  gone.abort(new Error("the client has gone"));
  for (const each of left) await expect(each).rejects.toThrow("the client has gone");
  const last = run("c");
  release();
  await last;
  await expect(run("late", { signal })).rejects.toThrow("the client has gone");
  expect(done).toEqual(["c"]);
});

test("work that fails releases the lock", async () => {
  const lock = createBoundedLock(1, () => new Error("full"));
  const failed = lock.run(() => Promise.reject(new Error("the disk is full")));
  const next = lock.run(async () => "done");
  await expect(failed).rejects.toThrow("the disk is full");
  expect(await next).toBe("done");
});

test("a full queue refuses more work, and that of the other priority still accepts it", async () => {
  const { done, run, hold } = start(1);
  const release = hold();
  const second = run("second");
  await expect(run("too much")).rejects.toThrow("full");
  const first = run("first", { priority: "high" });
  release();
  await Promise.all([first, second]);
  expect(done).toEqual(["first", "second"]);
});

test("abandoned imports do not delay a sealed export", async () => {
  const cipher = createPassphraseCipher(randomBytes, CHEAP);
  const passphrase = "correct horse battery";
  const sealed = await cipher.seal(passphrase, "text", "header");
  const gone = new AbortController();
  const imports = Array.from({ length: 20 }, () =>
    cipher
      .until(gone.signal)
      .open(passphrase, sealed, "header")
      .catch((error) => error),
  );
  const order: string[] = [];
  const seal = cipher.seal(passphrase, "export", "header").then(() => order.push("export"));
  gone.abort(new Error("the client has gone"));
  const results = await Promise.all(imports);
  expect(results.filter((each) => each === "text")).toHaveLength(1);
  expect(results.filter((each) => each instanceof Error)).toHaveLength(19);
  await seal;
  expect(order).toEqual(["export"]);
});

test("more imports than may wait are RESOURCE_EXHAUSTED", async () => {
  const cipher = createPassphraseCipher(randomBytes, CHEAP);
  const sealed = await cipher.seal("correct horse battery", "text", "header");
  const opens = Array.from({ length: 12 }, () =>
    cipher.open("correct horse battery", sealed, "header"),
  );
  const settled = await Promise.allSettled(opens);
  expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(9);
  expect(await failureOf(() => opens[11] as Promise<string>)).toMatchObject({
    code: Code.ResourceExhausted,
  });
});
