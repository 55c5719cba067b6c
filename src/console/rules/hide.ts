import type { HideAnswer, HideQuestion } from "./hide-worker.ts";
import workerAddress from "./hide-worker.ts?worker&url";

/** Time limit of one expression, in milliseconds. */
const LIMIT = 500;
/** Maximum number of expressions that are tried. */
const MAX_LINES = 200;

/** Effect of one line of `hide`. */
export interface HiddenByLine {
  readonly line: string;
  /** Hidden names. `invalid`: the browser does not understand it; `slow`: it took too long. */
  readonly names: readonly string[] | "invalid" | "slow";
}

interface Policy {
  createScriptURL(address: string): string;
}

/** Policy of Trusted Types for the address of the worker, which is the only one that it allows. */
const policy = (
  globalThis as {
    readonly trustedTypes?: { createPolicy(name: string, rules: Policy): Policy };
  }
).trustedTypes?.createPolicy("mooring-worker", {
  createScriptURL: (address) => {
    if (address !== workerAddress) throw new TypeError("not the address of the worker");
    return address;
  },
});

/** Names that each line of `hide` hides. Expressions run in a worker with a time limit. */
export async function hiddenNames(
  hide: string,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly HiddenByLine[]> {
  const lines = hide.split("\n").filter((line) => line.trim() !== "");
  const found: HiddenByLine[] = [];
  for (const line of lines.slice(0, MAX_LINES)) {
    signal.throwIfAborted();
    found.push({ line, names: await hiddenBy({ pattern: line, names }, signal) });
  }
  return found;
}

function hiddenBy(question: HideQuestion, signal: AbortSignal): Promise<HiddenByLine["names"]> {
  const worker = new Worker(policy?.createScriptURL(workerAddress) ?? workerAddress, {
    type: "module",
  });
  return new Promise((resolve) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const end = (names: HiddenByLine["names"]): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      worker.terminate();
      resolve(names);
    };
    const onAbort = (): void => end("slow");
    signal.addEventListener("abort", onAbort);
    worker.onerror = () => end("invalid");
    worker.onmessage = ({ data }: MessageEvent<HideAnswer>) => end(data ?? "invalid");
    worker.postMessage(question);
    timer = setTimeout(() => end("slow"), LIMIT);
  });
}
