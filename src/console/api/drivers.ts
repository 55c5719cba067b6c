import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { DriverInfo } from "../../../gen/mooring/v1/driver_pb.js";
import { DriverService } from "../../../gen/mooring/v1/driver_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { language } from "../i18n/language.ts";
import type { Language } from "../i18n/preferred.ts";
import { transport } from "./client.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";
import { session } from "./session.ts";

export const driverService = createClient(DriverService, transport);

/** Catalogue as last read. */
export interface Catalogue {
  readonly revision: string;
  /** Language of the texts. */
  readonly language: Language;
  /** By name, in the order of names. */
  readonly drivers: ReadonlyMap<string, DriverInfo>;
}

export const catalogue = signal<Catalogue | undefined>(undefined);
export const catalogueFailure = signal<Failure | undefined>(undefined);

session.subscribe((now) => {
  if (now === undefined) catalogue.value = undefined;
});

/** Reads the catalogue and follows its changes until the signal is aborted. */
export async function followCatalogue(signal: AbortSignal): Promise<void> {
  const read = followCalls({ open: readChanged, failure: catalogueFailure, signal });
  for await (const changed of read) catalogue.value = changed;
}

/** Yields the catalogue after each change of the catalogue or the language. */
async function* readChanged(_: undefined, options: StreamOptions): AsyncGenerator<Catalogue> {
  const revision = catalogue.peek()?.revision ?? "";
  for await (const event of driverService.watchDrivers({ revision }, options)) {
    const known = catalogue.peek();
    if (event.revision === known?.revision && known.language === language.peek()) continue;
    const read = await driverService.listDrivers({}, { signal: options.signal });
    yield {
      revision: read.revision,
      language: language.peek(),
      drivers: new Map(Object.entries(read.drivers).sort(byName)),
    };
  }
}

function byName([one]: [string, unknown], [other]: [string, unknown]): number {
  return one.localeCompare(other, "en", { sensitivity: "base" });
}
