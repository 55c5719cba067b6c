import { notFound, unavailable } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import { didYouMean } from "../messages/nearest.ts";
import { createWaiter } from "../waiter.ts";
import { type Catalogue, type CatalogueDifference, diffCatalogues } from "./catalogue.ts";
import type { DriverInfo } from "./driver-info.ts";
import type { LiveCatalogue } from "./live-catalogue.ts";

/** Drivers of this deployment. */
export interface DriverService {
  /** The current catalogue: a new object after each change. */
  catalogue(): Catalogue;
  /** @throws NOT_FOUND naming the driver and the nearest names. */
  get(name: string): DriverInfo;
  /**
   * Stream of changes after a catalogue of the reader. Changes during a slow read are merged into
   * one. The stream ends when the signal is aborted.
   *
   * @throws UNAVAILABLE when the service stops.
   */
  changes(since: Catalogue, signal: AbortSignal): AsyncIterable<CatalogueStep>;
}

/** Step from one catalogue to the next one that a reader receives. */
interface CatalogueStep {
  readonly catalogue: Catalogue;
  readonly difference: CatalogueDifference;
}

export function createDriverService({
  live,
  stopping,
}: {
  readonly live: LiveCatalogue;
  readonly stopping: AbortSignal;
}): DriverService {
  const catalogue = live.current;
  const waiter = createWaiter();
  live.subscribe(waiter.notify);
  return {
    catalogue,
    get: (name) => {
      const driver = catalogue().get(name);
      if (driver !== undefined) return driver;
      const hint = didYouMean(name, catalogue().names);
      throw notFound(
        message("DRIVER_NOT_FOUND", {
          name: name.slice(0, 255),
          hint: hint === "" ? "" : `.${hint}`,
        }),
      );
    },
    async *changes(since, signal) {
      let seen = since;
      const waiting = waiter.join([signal, stopping]);
      try {
        while (!signal.aborted) {
          const current = catalogue();
          if (stopping.aborted) throw unavailable(message("SERVICE_STOPPING"));
          if (current.revision === seen.revision) await waiting.next();
          else yield { catalogue: current, difference: diffCatalogues(seen, current) };
          seen = current;
        }
      } finally {
        waiting.close();
      }
    },
  };
}
