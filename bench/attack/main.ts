import { parseArgs } from "node:util";
import { makePackage, SOURCE } from "../mooring.ts";
import { createRunStage } from "../stage.ts";
import { type AttackCase, attacks } from "./attacks.ts";
import { headText, outcomeText } from "./report.ts";
import { type Outcome, openScene, type Scene } from "./run.ts";

const usage = `Usage: npm run attack -- [options]

Attacks a Mooring that it starts itself, on 127.0.0.1 alone, beside a well-behaved client, and fails
when that client or the server's memory suffers more than they may.

  --quick        seconds for each attack instead of a quarter of a minute
  --shared       on a machine with other work to do: what is slow is shown, and only a freeze fails
  --only NAME    only this attack; may be repeated or a list with commas
  --seed N       for what is random; printed, so that a run can be repeated
  --source       attacks src/main.ts and not the package that a build makes
  --list         names of the attacks
  --help         this text
`;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`attack: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: "boolean", default: false },
      shared: { type: "boolean", default: false },
      only: { type: "string", multiple: true, default: [] },
      seed: { type: "string" },
      source: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(usage);
  if (values.list)
    return print(attacks.map(({ name, title }) => `${name.padEnd(20)} ${title}\n`).join(""));
  const chosen = chosenOf(
    values.only.flatMap((names) => names.split(",")),
    values.quick ? "quick" : "full",
  );
  const seed = seedOf(values.seed);
  const stage = createRunStage();
  const plan = {
    stage,
    quick: values.quick,
    seed,
    machine: values.shared ? "shared" : "own",
  } as const;
  let failed = 0;
  let scene: Scene | undefined;
  try {
    const server = values.source ? SOURCE : await makePackage(stage);
    print(
      `npm run attack -- ${[...args].join(" ")}${values.seed === undefined ? ` --seed ${seed}` : ""}\n\n${headText}`,
    );
    for (const attack of chosen) {
      const { publicBytes, bounds } = attack;
      let outcome: Outcome | undefined;
      // A bound may break because of other work on the machine, so an attack fails only after two
      // attempts.
      for (let attempt = 0; attempt < 2 && outcome?.broken.length !== 0; attempt += 1) {
        scene ??= await openScene({ ...plan, server }, publicBytes);
        outcome = await scene.attack(attack);
        const keepsServer = publicBytes === undefined && bounds.stored === undefined;
        if (outcome.broken.length === 0 && keepsServer) continue;
        // Each attempt has a new server.
        await scene.close();
        scene = undefined;
      }
      if (outcome === undefined) continue;
      print(outcomeText(attack, outcome));
      failed += Math.sign(outcome.broken.length);
    }
  } finally {
    // The well-behaved client would keep this process alive.
    await scene?.close();
    await stage.close();
  }
  print(`\n${chosen.length - failed} passed, ${failed} failed\n`);
  return failed === 0 ? 0 : 1;
}

/** @throws Error that names an unknown attack. */
function chosenOf(
  names: readonly string[],
  kind: NonNullable<AttackCase["run"]>,
): readonly AttackCase[] {
  const unknown = names.find((name) => !attacks.some((attack) => attack.name === name));
  if (unknown !== undefined)
    throw new Error(`there is no attack "${unknown}": see npm run attack -- --list`);
  if (names.length > 0) return attacks.filter(({ name }) => names.includes(name));
  return attacks.filter(({ run = kind }) => run === kind);
}

/** @throws Error for text other than a whole number. */
function seedOf(text: string | undefined): number {
  if (text === undefined) return Math.floor(Math.random() * 2 ** 31);
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isNaN(seed)) throw new Error("--seed is a whole number");
  return seed;
}

function print(text: string): number {
  process.stdout.write(text);
  return 0;
}
