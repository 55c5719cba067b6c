import { parseArgs } from "node:util";
import { checkMemory, createTally, fuzzRound, memoryInUse } from "./fuzz.ts";

// npm run fuzz -- --minutes 10 --seed 7: rounds of the fuzzer, the first with this seed, each next
// one with the next seed. `--minutes 0` runs one round.

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "1" }, seed: { type: "string" } },
});
const first = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const until = Date.now() + Number(values.minutes) * 60_000;
const tally = createTally();
let seed = first;
let before: number | undefined;

process.stdout.write(`fuzz: seed ${first}\n`);
process.on("uncaughtException", fail);
try {
  do {
    await fuzzRound(seed, tally);
    before ??= memoryInUse();
    if (tally.rounds % 20 === 0) await checkMemory(before);
    seed++;
  } while (Date.now() < until);
  const statuses = Object.fromEntries([...tally.statuses].sort());
  process.stdout.write(
    `fuzz: seeds ${first} to ${seed - 1}, ${tally.requests} requests, ${tally.reached} reached an rpc, ` +
      `statuses ${JSON.stringify(statuses)}\n`,
  );
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  process.stdout.write(`fuzz: ${String(error)}\nnpm run fuzz -- --minutes 0 --seed ${seed}\n`);
  process.exit(1);
}
