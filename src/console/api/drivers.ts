import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { DriverService } from "../../../gen/mooring/v1/driver_service_pb.js";
import { language } from "../i18n/language.ts";
import type { Language } from "../i18n/preferred.ts";
import { transport } from "./client.ts";
import { type Failure, failureOf } from "./failure.ts";
import { session } from "./session.ts";
import { pause } from "./wait.ts";

export const driverService = createClient(DriverService, transport);

/** The catalogue as it was read last. */
export interface Catalogue {
  readonly revision: string;
  /** Of the texts for people. */
  readonly language: Language;
  /** By name, in the order of names. */
  readonly drivers: ReadonlyMap<string, DriverInfo>;
}

export const catalogue = signal<Catalogue | undefined>(undefined);
export const catalogueFailure = signal<Failure | undefined>(undefined);

/** Between two tries to reach the service, in milliseconds. */
const RETRY = 2_000;

session.subscribe((now) => {
  if (now === undefined) catalogue.value = undefined;
});

/** Reads the catalogue and follows its changes until the signal: while somebody looks at it. */
export async function followCatalogue(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const revision = catalogue.peek()?.revision ?? "";
      for await (const event of driverService.watchDrivers({ revision }, { signal })) {
        const known = catalogue.peek();
        if (event.revision === known?.revision && known.language === language.peek()) continue;
        const read = await driverService.listDrivers({}, { signal });
        catalogue.value = {
          revision: read.revision,
          language: language.peek(),
          drivers: new Map(Object.entries(read.drivers).sort(byName)),
        };
        catalogueFailure.value = undefined;
      }
    } catch (thrown) {
      if (signal.aborted) return;
      catalogueFailure.value = failureOf(thrown);
      if (catalogueFailure.value.kind === "denied") return;
    }
    await pause(RETRY, signal);
  }
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one.localeCompare(other, "en", { sensitivity: "base" });
}
