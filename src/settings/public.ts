import type { Engine } from "./engine.ts";
import { isPublic } from "./item.ts";
import type { Snapshot } from "./snapshot.ts";

/** Settings that can be read without a token. */
export interface PublicService {
  snapshot(): Snapshot;
  /** The newest revision of any process on this database. */
  fresh(): Promise<Snapshot>;
  /** Key to value of the settings with flag 0 (public) or 2 (readonly), sorted by key. */
  settings(snapshot: Snapshot): Record<string, string>;
}

export function createPublicService({ engine }: { engine: Engine }): PublicService {
  return {
    snapshot: engine.snapshot,
    fresh: engine.fresh,
    settings: (snapshot) => {
      const open = [...snapshot.items()].filter(isPublic).map(({ key, value }) => [key, value]);
      return Object.fromEntries(open.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
    },
  };
}
