// Separate process for an attack, so that it does not use the CPU time of the measuring process:
// attacker.ts NAME TARGET. It prints "begin" with the name of each part of the attack, ends at the
// end of its stdin, and prints its counts as a line of JSON.
import { attacks } from "./attacks.ts";
import type { Target } from "./target.ts";

const [, , name, target = "{}"] = process.argv;
const attack = attacks.find((each) => each.name === name);
if (attack === undefined) throw new Error(`there is no attack ${name}`);

const over = new AbortController();
process.stdin.once("end", () => over.abort()).resume();
process.stdout.write("begin\n");
const tally = await attack.attack(JSON.parse(target) as Target, over.signal, (part) => {
  process.stdout.write(`part ${part}\n`);
});
process.stdout.write(`${JSON.stringify(tally)}\n`, () => process.exit());
