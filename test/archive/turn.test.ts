import { randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { createTurns } from "../../src/archive/turn.ts";
import { failureOf } from "./setting.ts";
import { CHEAP } from "./text.ts";

/** @returns the names of finished turns, and a function that starts one. */
function start(most = 8) {
  const turns = createTurns(most, () => new Error("full"));
  const done: string[] = [];
  const run = async (name: string, queue: 0 | 1, signal?: AbortSignal): Promise<void> => {
    const end = await turns.take(queue, signal);
    await Promise.resolve();
    done.push(name);
    end();
  };
  return { done, run, hold: () => turns.take(1) };
}

test("turns of the first queue go before those of the second", async () => {
  const { done, run } = start();
  await Promise.all([run("a", 1), run("b", 1), run("c", 1), run("first", 0)]);
  expect(done).toEqual(["a", "first", "b", "c"]);
});

test("work that is cancelled while it waits has no turn and takes no place", async () => {
  const { done, run, hold } = start(2);
  const end = await hold();
  const gone = new AbortController();
  const left = [run("a", 1, gone.signal), run("b", 1, gone.signal)];
  await expect(run("too much", 1)).rejects.toThrow("full");
  gone.abort(new Error("the client has gone"));
  for (const each of left) await expect(each).rejects.toThrow("the client has gone");
  const last = run("c", 1);
  end();
  await last;
  await expect(run("late", 1, gone.signal)).rejects.toThrow("the client has gone");
  expect(done).toEqual(["c"]);
});

test("a full queue refuses more work, and the other one still takes it", async () => {
  const { done, run, hold } = start(1);
  const end = await hold();
  const second = run("second", 1);
  await expect(run("too much", 1)).rejects.toThrow("full");
  const first = run("first", 0);
  end();
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
