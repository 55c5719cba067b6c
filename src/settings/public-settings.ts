import type { Ledger } from "../ledger/ledger.ts";
import type { Snapshot } from "../ledger/snapshot.ts";
import { isPublic } from "./item.ts";
import { SETTINGS } from "./kind.ts";

/** Settings that can be read without a token. */
export interface PublicSettings {
  snapshot(): Snapshot;
  /** Settings at the newest revision of any process on this database. */
  fresh(): Promise<Snapshot>;
  /** Key to value of the settings with flag 0 (public) or 2 (readonly), sorted by key. */
  settings(snapshot: Snapshot): Record<string, string>;
}

export function createPublicSettings({ ledger }: { ledger: Ledger }): PublicSettings {
  return {
    snapshot: ledger.snapshot,
    fresh: ledger.fresh,
    settings: (snapshot) => {
      const open = [...snapshot.of(SETTINGS).items()]
        .filter(isPublic)
        .map(({ key, value }) => [key, value]);
      return Object.fromEntries(open.sort(([a = ""], [b = ""]) => (a < b ? -1 : 1)));
    },
  };
}
