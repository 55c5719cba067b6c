import { startPeriodic } from "../periodic.ts";
import type { AccessStore, TokenUse } from "./store.ts";

/** Maximum number of tokens with a pending use; those of others are recorded a minute later. */
const MAX_WAITING = 10_000;

/** Records the last use of tokens. */
export interface LastUse {
  note(tokenId: string, time: number, peer: string): void;
  /** Writes pending uses. */
  close(): Promise<void>;
}

/**
 * Collects uses in memory and writes them once per interval: a write for each call would serialize
 * all calls.
 */
export function createLastUse(
  store: AccessStore,
  options: { readonly interval: number; readonly onError: (error: unknown) => void },
): LastUse {
  const waiting = new Map<string, TokenUse>();
  const write = async (): Promise<void> => {
    const uses = [...waiting.values()];
    await store.recordUses(uses);
    for (const use of uses) if (waiting.get(use.tokenId) === use) waiting.delete(use.tokenId);
  };
  const job = startPeriodic(write, options);
  return {
    note: (tokenId, time, peer) => {
      if (waiting.size < MAX_WAITING || waiting.has(tokenId))
        waiting.set(tokenId, { tokenId, time, peer });
    },
    close: async () => {
      await job.stop();
      await write().catch(options.onError);
    },
  };
}
