// Separate process for an attack, so that it does not use the CPU time of the measuring process:
// attacker.ts NAME TARGET. It sends the name of each part of the attack to the process that has
// started it, ends at a message of it, and then sends its counts.
import { attacks } from "./attacks.ts";
import type { Tally, Target } from "./target.ts";

/** Message to the measuring process. */
export type Report = { readonly part: string } | { readonly tally: Tally };

const [, , name, target = "{}"] = process.argv;
const attack = attacks.find((each) => each.name === name);
if (attack === undefined) throw new Error(`there is no attack ${name}`);

const report = (one: Report, sent = (): void => undefined): void => {
  process.send?.(one, undefined, undefined, sent);
};
const over = new AbortController();
process.once("message", () => over.abort()).once("disconnect", () => process.exit());
report({ part: "" });
const tally = await attack.attack(JSON.parse(target) as Target, over.signal, (part) =>
  report({ part }),
);
report({ tally }, () => process.exit());
