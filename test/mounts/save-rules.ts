import { expect } from "vitest";
import type { SaveRules } from "../../src/mounts/save.ts";
import { siteNames } from "../sites/names.ts";
import { driverByName } from "./site/desk.ts";

/** Rules of a caller who may save every mount, on the sites `one` and `two`. */
export function saveRules(changes: Partial<SaveRules> = {}): SaveRules {
  return {
    driverOf: driverByName,
    etagOf: () => "0",
    driverNames: () => [],
    sites: siteNames("one", "two"),
    families: [],
    allows: () => true,
    refuse: () => expect.unreachable("it is allowed"),
    reveals: true,
    managedBy: () => undefined,
    allowShared: true,
    isAdopted: false,
    isDry: false,
    ...changes,
  };
}
