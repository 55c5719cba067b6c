import { expect, test } from "vitest";
import { createTally, fuzzRound } from "./fuzz.ts";

const SEED = 20_261_124;
const ROUNDS = 6;

test("random requests to random rules cause no failure", { timeout: 120_000 }, async () => {
  const tally = createTally();
  for (let round = 0; round < ROUNDS; round++) await fuzzRound(SEED + round, tally);
  // Most are valid enough to reach an rpc; others would test only refusals.
  expect(tally.reached).toBeGreaterThan(tally.requests / 4);
});
