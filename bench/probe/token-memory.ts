import { setTimeout as sleep } from "node:timers/promises";
import type { Experiment } from "../finding.ts";
import { size } from "../format.ts";
import type { Lab } from "../lab.ts";
import { residentBytes } from "../proc.ts";
import { median } from "../statistics.ts";
import { startWithTokens } from "../token.ts";

const FEW = 1;
const MANY = 10_000;
const ROUNDS = 3;
/** Milliseconds of rest before the memory is read: what the start took goes back when nobody asks. */
const REST = 15_000;

/** What tokens take that nobody uses. */
export const tokenMemory: Experiment = {
  name: "token-memory",
  title: "Resident memory with 10,000 tokens",
  needs: [],
  long: true,
  measure: async (lab) => {
    const rounds: { readonly few: number; readonly many: number }[] = [];
    for (let round = 0; round < (lab.quick ? 1 : ROUNDS); round += 1) {
      const [few = 0, many = 0] = await Promise.all([
        residentWith(lab, FEW),
        residentWith(lab, MANY),
      ]);
      rounds.push({ few, many });
    }
    const few = rounds.map((round) => round.few);
    const many = rounds.map((round) => round.many);
    const more = rounds.map((round) => (round.many - round.few) / 1e6);
    return {
      name: tokenMemory.name,
      title: tokenMemory.title,
      load: "VmRSS a quarter of a minute after a start, both side by side, the middle of several starts",
      columns: ["", "resident"],
      rows: [
        ["one token", size(median(few))],
        ["10,000 tokens", size(median(many))],
      ],
      verdicts: [
        {
          text: "10,000 tokens against one, memory",
          value: median(more),
          unit: " MB",
          lowest: Math.min(...more),
          highest: Math.max(...more),
          target: { atMost: 10 },
        },
      ],
      notes: [],
      figures: rounds,
    };
  },
};

async function residentWith(lab: Lab, tokens: number): Promise<number> {
  const { mooring } = await startWithTokens(lab, tokens);
  await sleep(REST);
  const bytes = residentBytes(mooring.server.pid);
  await mooring.server.stop();
  return bytes;
}
