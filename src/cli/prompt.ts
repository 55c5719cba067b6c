import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { CliFailure, EXIT } from "./failure.ts";
import type { World } from "./world.ts";

/** Reports whether questions can be asked: standard input and standard error are terminals. */
export function canAsk({ stdin, stderr }: World): boolean {
  return stdin.isTTY === true && stderr.isTTY === true;
}

/** Asks for confirmation. Only `y` and `yes` confirm. */
export async function confirm(world: World, question: string): Promise<boolean> {
  const answer = await ask(world, `${question} [y/N] `, { hidden: false });
  return /^y(es)?$/i.test(answer.trim());
}

/** Asks for a text without echo. */
export async function askHidden(world: World, question: string): Promise<string> {
  try {
    return await ask(world, `${question}: `, { hidden: true });
  } finally {
    world.stderr.write("\n");
  }
}

async function ask(
  world: World,
  question: string,
  { hidden }: { readonly hidden: boolean },
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // In terminal mode readline disables the echo of the system and writes to a null stream.
  const lines = createInterface({
    input: world.stdin,
    output: nowhere,
    terminal: hidden,
    historySize: 0,
  });
  const left = new AbortController();
  // Ctrl-C and Ctrl-D: without this the question would never be answered.
  lines.once("SIGINT", () => left.abort());
  lines.once("close", () => left.abort());
  try {
    const answer = lines.question("", { signal: left.signal });
    // Earlier input would be echoed and not read.
    world.stderr.write(question);
    return await answer;
  } catch (error) {
    if (!left.signal.aborted) throw error;
    throw new CliFailure(EXIT.failed, "no answer; nothing was done");
  } finally {
    lines.close();
  }
}
