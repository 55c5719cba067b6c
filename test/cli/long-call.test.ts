import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { readArguments } from "../../src/cli/argument.ts";
import { longCall } from "../../src/cli/long-call.ts";
import { createOutput } from "../../src/cli/output.ts";
import { cli, useService } from "./service.ts";
import { start } from "./world.ts";

useService({ MOORING_BACKUP_DIR: "backups", MOORING_BACKUP_PASSPHRASE: "of the service" });

const WORK = { work: "restore", interruptNote: "parts that were complete stay" };

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** A long call that ends when `reply` is called, on a terminal of this width. */
function begin(terminal?: number) {
  let interrupt = (): void => undefined;
  const { world, err } = start([], {
    ...(terminal === undefined ? {} : { terminal }),
    world: {
      onInterrupt: (listener) => {
        interrupt = listener;
        return () => undefined;
      },
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const run = {
    args: readArguments([], ["timeout"]),
    world,
    errors: createOutput(world.stderr, world.env),
  };
  const result = longCall(run, WORK, ({ signal, timeoutMs }) => {
    expect(timeoutMs).toBe(120_000);
    signal?.addEventListener("abort", () => reject(signal.reason));
    return promise;
  });
  return { result, reply: () => resolve("done"), interrupt: () => interrupt(), err };
}

test("a terminal shows the time from one second on, and the line is removed at the end", async () => {
  const { result, reply, err } = begin(80);
  vi.advanceTimersByTime(2_500);
  expect(err).toEqual(["\rrestore: 1 s (Ctrl-C ends it)", "\rrestore: 2 s (Ctrl-C ends it)"]);
  reply();
  expect(await result).toBe("done");
  expect(err.at(-1)).toBe(`\r${" ".repeat(79)}\r`);
  expect(vi.getTimerCount()).toBe(0);
});

test.each([
  ["a short call", 80, 900],
  ["a pipe", undefined, 5_000],
] as const)("%s has no line", async (_what, terminal, milliseconds) => {
  const { result, reply, err } = begin(terminal);
  vi.advanceTimersByTime(milliseconds);
  reply();
  await result;
  expect(err).toEqual([]);
});

test("Ctrl-C ends the call, and the error has its note", async () => {
  const { result, interrupt } = begin();
  interrupt();
  await expect(result).rejects.toMatchObject({
    exitCode: 1,
    message: "restore was interrupted; parts that were complete stay",
  });
});

test.each([
  [["backup", "create"], /^mooring backup: backup was interrupted; "mooring backup list"/],
  [["export"], /^mooring export: export was interrupted; nothing was written/],
])("Ctrl-C ends the command %j", async (args, message) => {
  const onInterrupt = (listener: () => void) => {
    listener();
    return () => undefined;
  };
  const { code, out, err } = await cli(args, { world: { onInterrupt } });
  expect([code, out]).toEqual([1, ""]);
  expect(err).toMatch(message);
});
