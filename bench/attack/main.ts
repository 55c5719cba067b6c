import { parseArgs } from "node:util";
import { chosenOf, commonOptions, listText, print, runProgram } from "../command.ts";
import { makePackage, SOURCE } from "../mooring.ts";
import { count, decimal } from "../report.ts";
import { createRunStage } from "../stage.ts";
import { type AttackCase, attacks } from "./attacks.ts";
import { type Outcome, openScene, type Plan, type Scene } from "./run.ts";

const usage = `Usage: npm run attack -- [options] [NAME…]

Attacks a Mooring that it starts itself, on 127.0.0.1 alone, beside a well-behaved client, and fails
when that client or the server's memory suffers more than they may.

  NAME           only this attack, as --only
  --quick        seconds for each attack instead of a quarter of a minute
  --shared       on a machine with other work to do: what is slow is shown, and only a freeze fails
  --only NAME    only this attack; may be repeated or a list with commas
  --seed N       for what is random; printed, so that a run can be repeated
  --source       attacks src/main.ts and not the package that a build makes
  --list         names of the attacks
  --help         this text
`;

await runProgram("attack", main);

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...commonOptions,
      shared: { type: "boolean", default: false },
      seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
      source: { type: "boolean", default: false },
    },
  });
  if (values.help) return print(usage);
  if (values.list) return print(listText(attacks));
  const chosen = chosenOf(attacks, [...(values.only ?? []), ...positionals], ["attack", "attack"]);
  if (!/^\d{1,10}$/.test(values.seed)) throw new Error("--seed is a whole number");
  const stage = createRunStage();
  try {
    const server = values.source ? SOURCE : await makePackage(stage);
    print(`npm run attack -- ${args.join(" ")}, seed ${values.seed}\n\n`);
    const failed = await attackAll(chosen, {
      stage,
      server,
      quick: values.quick,
      seed: Number(values.seed),
      machine: values.shared ? "shared" : "own",
    });
    print(`\n${chosen.length - failed} passed, ${failed} failed\n`);
    return failed === 0 ? 0 : 1;
  } finally {
    await stage.close();
  }
}

/**
 * Makes attacks one after the other. A bound may break because of other work on the machine, so that
 * an attack fails only after two attempts.
 *
 * @returns the number of failed attacks.
 */
async function attackAll(chosen: readonly AttackCase[], plan: Plan): Promise<number> {
  let failed = 0;
  let scene: Scene | undefined;
  try {
    for (const attack of chosen) {
      const { publicBytes, bounds } = attack;
      const keepsServer = publicBytes === undefined && bounds.stored === undefined;
      for (const isLast of [false, true]) {
        scene ??= await openScene(plan, publicBytes);
        const outcome = await scene.attack(attack);
        const isHeld = outcome.broken.length === 0;
        if (!isHeld || !keepsServer) {
          await scene.close();
          scene = undefined;
        }
        if (!isHeld && !isLast) continue;
        print(outcomeText(attack, outcome));
        if (!isHeld) failed += 1;
        break;
      }
    }
    return failed;
  } finally {
    // The well-behaved client would keep this process alive.
    await scene?.close();
  }
}

/** Result of an attack: broken bounds, measurements, and the counts of the attacker. */
function outcomeText({ name, title }: AttackCase, outcome: Outcome): string {
  const { before, during, memory, tick, peakPart, tally, broken } = outcome;
  const both = (one: number, two: number): string => `${decimal(one)} → ${decimal(two)} ms`;
  const amount = (one: number): string => (Number.isInteger(one) ? count(one) : decimal(one));
  const sizes = [memory.before, memory.peak, memory.after].map((size) => size.toFixed(0));
  const did = Object.entries(tally).map(([what, times]) => `${amount(times)} ${what}`);
  const measured = [
    `/ping p99 ${both(before.ping.p99, during.ping.p99)} (control ${decimal(during.control.p99)})`,
    `save p50 ${both(before.save.p50, during.save.p50)}`,
    `memory ${sizes.join(" → ")} MB`,
    `longest tick ${tick.value.toFixed(0)} ms`,
  ];
  const worst = [
    ...(peakPart === "" ? [] : [`most memory in ${peakPart}`]),
    ...(tick.part === "" ? [] : [`longest tick in ${tick.part}`]),
  ];
  return [
    `${name}: ${title}`,
    `  ${broken.length === 0 ? "held" : `FAILED: ${broken.join("; ")}`}`,
    ...[measured, did, worst]
      .filter((line) => line.length > 0)
      .map((line) => `  ${line.join(", ")}`),
    "",
  ].join("\n");
}
