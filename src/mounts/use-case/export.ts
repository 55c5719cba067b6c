import type { DriverInfo } from "../../drivers/driver-info.ts";
import type { SiteRegistry } from "../../sites/registry.ts";
import { writeDocument } from "../archive/exported-row.ts";
import type { MountChanges } from "../changes.ts";
import type { MountService } from "../mount-service.ts";

export interface ExportDeps {
  readonly sites: Pick<SiteRegistry, "names">;
  readonly driverOf: (name: string) => DriverInfo | undefined;
}

export function exportMounts(
  changes: MountChanges,
  { sites, driverOf }: ExportDeps,
): MountService["export"] {
  return async (names, site, grant, reveals) => {
    const place = site === "" ? "" : (await changes.siteNamed(site)).id;
    const mounts = changes.named(names, grant);
    const hides = (driver: string, item: string) => !reveals && changes.isSecret(driver, item);
    const document = await writeDocument(mounts, place, sites.names(), driverOf, hides);
    return { mounts, document };
  };
}
