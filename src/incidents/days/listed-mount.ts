import type { DriverInfo } from "../../drivers/driver-info.ts";
import { isErrorStatus } from "../../mounts/decide-state.ts";
import { secretsOf } from "../../mounts/site/plain.ts";
import type { StorageRow } from "../../mounts/site/row.ts";
import { plainMessage } from "../../sync/failure.ts";
import type { Incident } from "../incident.ts";
import type { ListedMount } from "./recorded-site.ts";

/**
 * A row of a site's list, for the days of its mount. It fails if its status is an error, or an incident
 * of it is open; a token that is still to expire is no failure.
 */
export function listedMount(
  row: StorageRow,
  incident: Incident | undefined,
  driverOf: (name: string) => DriverInfo | undefined,
): ListedMount {
  const { mount_path: path, id: rowId, status, disabled } = row;
  const failure = incident?.source === "expiry" ? undefined : incident;
  const mount = { path, rowId };
  if (disabled) return { ...mount, state: "unmonitored", reason: () => "" };
  if (failure !== undefined) return { ...mount, state: "fails", reason: () => failure.message };
  if (isErrorStatus(status))
    return {
      ...mount,
      state: "fails",
      reason: () => plainMessage(status, secretsOf(undefined, row, { driverOf })),
    };
  return { ...mount, state: status === "" ? undefined : "works", reason: () => "" };
}
