import { expect, onTestFinished, test } from "vitest";
import { releaseWhenIdle } from "../../src/server/idle-memory.ts";

const MIB = 2 ** 20;

/** Fills memory with buffers that nobody needs. */
function waste(): void {
  const pieces = Array.from({ length: 40 }, () => Buffer.alloc(MIB));
  expect(pieces).toHaveLength(40);
}

test("buffers that nobody needs are given back when no more come", async () => {
  const before = process.memoryUsage().arrayBuffers;
  onTestFinished(releaseWhenIdle({ interval: 20, worth: 4 * MIB }));
  waste();
  const isBack = (): boolean => process.memoryUsage().arrayBuffers < before + 8 * MIB;
  while (!isBack()) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(globalThis).not.toHaveProperty("gc");
});
