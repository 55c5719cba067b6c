import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import { writeDocument } from "../archive/exported-row.ts";
import type { MountChanges } from "../changes.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";

export interface ExportDeps {
  readonly view: Pick<MountView, "all">;
  readonly sites: Pick<SiteRegistry, "names">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

export function exportMounts(
  changes: MountChanges,
  { view, sites, driverOf }: ExportDeps,
): MountService["export"] {
  return async (names, site, grant, reveals) => {
    const place = site === "" ? "" : (await changes.siteNamed(site)).id;
    const mounts =
      names.length === 0
        ? changes.readable(grant)
        : names.map((name) => changes.require(grant, view.all().get(name), name));
    const hides = (driver: string, item: string) => !reveals && changes.isSecret(driver, item);
    return writeDocument(mounts, place, sites.names(), driverOf, hides);
  };
}
