import { notFound } from "../error.ts";
import type { Catalogue } from "./catalogue.ts";
import { type CatalogueDifference, diffCatalogues } from "./difference.ts";
import type { DriverInfo } from "./driver-info.ts";
import type { LiveCatalogue } from "./live-catalogue.ts";
import { didYouMean } from "./nearest.ts";

/** The drivers of this deployment. */
export interface DriverService {
  /** The catalogue as it stands: another object once it has changed. */
  catalogue(): Catalogue;
  /** @throws NOT_FOUND naming the driver and the nearest names. */
  get(name: string): DriverInfo;
  /**
   * Each change of the catalogue after one that the reader has; changes that pile up while it is
   * busy come as one. Ends when the signal is aborted.
   */
  changes(since: Catalogue, signal: AbortSignal): AsyncIterable<CatalogueStep>;
}

/** From one catalogue to the next that a reader sees. */
export interface CatalogueStep {
  readonly catalogue: Catalogue;
  readonly difference: CatalogueDifference;
}

export function createDriverService({ live }: { readonly live: LiveCatalogue }): DriverService {
  const catalogue = live.current;
  return {
    catalogue,
    get: (name) => {
      const driver = catalogue().get(name);
      if (driver !== undefined) return driver;
      const hint = didYouMean(name, catalogue().names);
      throw notFound(`driver [${name.slice(0, 255)}] not found${hint === "" ? "" : `.${hint}`}`);
    },
    async *changes(since, signal) {
      let seen = since;
      while (!signal.aborted) {
        const current = catalogue();
        if (current.revision === seen.revision) await nextChange(live, signal);
        else yield { catalogue: current, difference: diffCatalogues(seen, current) };
        seen = current;
      }
    },
  };
}

function nextChange(live: LiveCatalogue, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unsubscribe();
      signal.removeEventListener("abort", done);
      resolve();
    };
    const unsubscribe = live.subscribe(done);
    signal.addEventListener("abort", done);
  });
}
