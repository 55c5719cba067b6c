import { startPeriodic } from "../periodic.ts";
import type { AccessStore, TokenUse } from "./store.ts";

/** Uses that wait to be written at one time; the others are noted again a minute later. */
const MAX_WAITING = 10_000;

/** Writes when tokens were used last. */
export interface LastUse {
  note(tokenId: string, time: number, peer: string): void;
  /** Writes what waits. */
  close(): Promise<void>;
}

/**
 * Notes uses in memory and writes them once an interval: a write for each call would put all calls one
 * after the other.
 */
export function createLastUse(
  store: AccessStore,
  options: { readonly interval: number; readonly onError: (error: unknown) => void },
): LastUse {
  const waiting = new Map<string, TokenUse>();
  const write = async (): Promise<void> => {
    const uses = [...waiting.values()];
    waiting.clear();
    await store.recordUses(uses);
  };
  const job = startPeriodic(write, options);
  return {
    note: (tokenId, time, peer) => {
      if (waiting.size < MAX_WAITING) waiting.set(tokenId, { tokenId, time, peer });
    },
    close: async () => {
      await job.stop();
      await write().catch(options.onError);
    },
  };
}
