// A full run of the small one in reliability.test.ts: `npm run reliability`.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { cutImages } from "./cut.ts";
import { killCycles } from "./kill.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "1000" },
    images: { type: "string", default: "10000" },
    seed: { type: "string", default: "1" },
  },
});
const seed = Number(values.seed);
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const folder = mkdtempSync(join(tmpdir(), "mooring-reliability-"));
const program = join(import.meta.dirname, "../../dist/src/main.js");
const wrong: string[] = [];
try {
  const images = Number(values.images);
  if (images > 0) {
    const cut = await cutImages({ images, seed, folder });
    wrong.push(...cut.wrong);
    say(
      `logs cut or damaged: ${images}; with something else than the last whole commit: ${cut.wrong.length}`,
    );
  }
  const cycles = Number(values.kills);
  if (cycles > 0) {
    const onCycle = (cycle: number): void => {
      if (cycle % 50 === 0) say(`  ${cycle} of ${cycles} kills`);
    };
    const kill = await killCycles({ cycles, seed, folder, program, onCycle });
    wrong.push(...kill.wrong);
    say(
      `kills: ${cycles}; saves acknowledged: ${kill.acknowledged}; revisions: ${kill.revisions}; lost or wrong: ${kill.wrong.length}`,
    );
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const problem of wrong) say(problem);
process.exitCode = wrong.length === 0 ? 0 : 1;
