import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { callHttp } from "./call.ts";
import type { Mooring } from "./mooring.ts";

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

const path = "/api/admin/setting/get?key=site_title";

/** Reads a setting over a keep-alive connection. @returns the duration in milliseconds. */
async function timeRead({ port, token }: Mooring): Promise<number> {
  const began = performance.now();
  await callHttp({ port, path, headers: { authorization: token }, agent });
  return performance.now() - began;
}

/** Reads one after the other. @returns their durations in milliseconds. */
export async function timeReads(mooring: Mooring, count: number): Promise<number[]> {
  const times: number[] = [];
  for (let read = 0; read < count; read += 1) times.push(await timeRead(mooring));
  return times;
}

/**
 * Reads until a call has ended.
 *
 * @param pause between two reads, in milliseconds.
 * @returns its result, and the durations.
 */
export async function readsWhile<T>(
  mooring: Mooring,
  call: Promise<T>,
  pause = 0,
): Promise<{ readonly result: T; readonly reads: readonly number[] }> {
  let hasEnded = false;
  const readOn = async (): Promise<number[]> => {
    const times: number[] = [];
    while (!hasEnded) {
      times.push(await timeRead(mooring));
      if (pause > 0) await sleep(pause);
    }
    return times;
  };
  const ending = call.finally(() => {
    hasEnded = true;
  });
  const [result, reads] = await Promise.all([ending, readOn()]);
  return { result, reads };
}
