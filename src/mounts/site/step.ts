import { message, type Text } from "../../messages/message.ts";
import type { StorageRow } from "./row.ts";

/** The next call about a mount. */
export type Step =
  | "create"
  | "disable"
  | "update"
  | "enable"
  | "delete"
  | "wait"
  | "conflict"
  | "done";

/** Input of the choice of the next step for a mount. Nothing is kept from earlier steps. */
export interface Situation {
  /** The row as it was read just before; undefined: the site has none. */
  readonly row: StorageRow | undefined;
  /** Desired mount; undefined: none. */
  readonly wanted: { readonly driver: string; readonly disabled: boolean } | undefined;
  /** Whether items or members differ. */
  readonly differs: boolean;
  /** Whether the site has refused to disable the mount because it is not in the site's memory. */
  readonly unmounted: boolean;
  /** Whether the site has refused to disable the mount because its driver can't be stopped. */
  readonly undroppable: boolean;
  /** Whether an unfinished mount may still complete. */
  readonly mounting: boolean;
  /** Whether the mount is to be mounted again, because it fails. */
  readonly remount: boolean;
}

/**
 * Chooses the next call so that the order is disable, update, enable and disable, delete: no driver
 * runs in between that could write its old row back. The choice depends on the row alone, so that after
 * a crash between two steps the next round continues from the row.
 */
export function nextStep(situation: Situation): Step {
  const { row, wanted, differs, unmounted, mounting } = situation;
  if (row === undefined) return wanted === undefined ? "done" : "create";
  if (wanted !== undefined && wanted.driver !== row.driver) return "conflict";
  // Stored as disabled while its driver still runs and may write its row back: only enabling and
  // disabling it again stops the driver.
  if (row.disabled && row.status === "work") return "enable";
  const isStuck = isUnfinished(row) && !mounting;
  const isToBeOff =
    wanted === undefined || wanted.disabled || differs || isStuck || situation.remount;
  if (!row.disabled && isToBeOff) {
    // OpenList deletes it anyway, AList does not.
    if (wanted === undefined && situation.undroppable) return "delete";
    if (!unmounted) return "disable";
    // Enabled, but not in the server's memory: only an update can disable the mount, and not while
    // it may still complete.
    return mounting ? "wait" : "update";
  }
  if (wanted === undefined) return "delete";
  if (differs) return "update";
  return row.disabled && !wanted.disabled ? "enable" : "done";
}

/** Reports whether the last mount of an enabled row has failed. */
export function isBroken(row: StorageRow): boolean {
  return !row.disabled && row.status !== "work" && !isUnfinished(row);
}

/** Reports whether the mounting of an enabled row has not ended: it is running, or the server was interrupted. */
export function isUnfinished(row: StorageRow): boolean {
  return !row.disabled && (row.status === "" || row.status === "disabled");
}

/** Stuck state of a row, with its remedy; empty: not stuck. */
export function stuckState(row: StorageRow, mounting: boolean): Text {
  if (row.disabled && row.status === "work") return message("MOUNT_DISABLED_SERVES");
  if (isUnfinished(row) && !mounting) return message("MOUNT_ENABLED_UNMOUNTED");
  return "";
}
