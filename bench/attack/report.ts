import { decimal } from "../report.ts";
import type { AttackCase } from "./attacks.ts";
import type { Outcome } from "./run.ts";

const COLUMNS = [18, 15, 25, 15, 22, 8] as const;
/** Headers of the columns. */
export const headText =
  line(["attack", "/ping p50, ms", "/ping p99, ms", "save p50, ms", "memory, MB", "tick, ms"]) +
  line([
    "",
    "before → during",
    "before → during (control)",
    "before → during",
    "before → peak → after",
    "longest",
  ]);

/**
 * Result of an attack as text: a row of the table, the counts of the attacker, and broken bounds.
 */
export function outcomeText(
  { name, title }: AttackCase,
  { before, during, memory, recovery, tick, peakPart, tally, broken }: Outcome,
): string {
  const both = (one: number, two: number): string => `${decimal(one)} → ${decimal(two)}`;
  const cells = [
    name,
    both(before.ping.p50, during.ping.p50),
    `${both(before.ping.p99, during.ping.p99)} (${decimal(during.control.p99)})`,
    both(before.save.p50, during.save.p50),
    [memory.before, memory.peak, memory.after].map((size) => size.toFixed(0)).join(" → "),
    tick.value.toFixed(0),
  ];
  const did = Object.entries(tally).map(([what, count]) => `${decimal(count)} ${what}`);
  const back = recovery < 1 ? [] : [`memory was back after ${recovery.toFixed(0)} s`];
  const worst =
    peakPart === "" && tick.part === ""
      ? ""
      : `  most memory in ${peakPart}, longest tick in ${tick.part}\n`;
  const verdict = broken.length === 0 ? "held" : `FAILED: ${broken.join("; ")}`;
  return `${line(cells)}  ${title}: ${[...did, ...back].join(", ")}\n${worst}  ${verdict}\n`;
}

function line(cells: readonly string[]): string {
  return `${cells
    .map((cell, at) => cell.padEnd(COLUMNS[at] ?? 0))
    .join(" ")
    .trimEnd()}\n`;
}
