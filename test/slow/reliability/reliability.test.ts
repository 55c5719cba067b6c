import { expect, test } from "vitest";
import { builtProgram } from "../../built.ts";
import { cutImages } from "../../reliability/cut.ts";
import { killCycles } from "../../reliability/kill.ts";
import { temporaryFolder } from "../../temporary.ts";

const SEED = 1;

test("500 logs that were cut or damaged open with the last complete commit", {
  timeout: 180_000,
}, async () => {
  const { wrong, images } = await cutImages({ images: 500, seed: SEED, folder: temporaryFolder() });
  expect(wrong).toEqual([]);
  expect(images).toBe(500);
});

test("20 kills under load lose no acknowledged save", { timeout: 180_000 }, async () => {
  const result = await killCycles({
    cycles: 20,
    seed: SEED,
    folder: temporaryFolder(),
    program: await builtProgram(),
  });
  expect(result.wrong).toEqual([]);
  expect(result.acknowledged).toBeGreaterThan(100);
  expect(result.revisions).toBeGreaterThanOrEqual(result.acknowledged);
});
