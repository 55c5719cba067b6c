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
  /** True when items or members are to be sent. */
  readonly differs: boolean;
  /** The site has refused to disable it because the mount is not in its memory. */
  readonly unmounted: boolean;
  /** The site has refused to disable it because its driver can't be stopped. */
  readonly undroppable: boolean;
  /** True when an unfinished mount may still complete. */
  readonly mounting: boolean;
}

/**
 * Chooses the next call so that the order is disable, update, enable and disable, delete: no driver
 * lives in between that writes its old row back. The choice depends on the row alone, so that a crash
 * between two steps leaves a row that the next round goes on from.
 */
export function nextStep(situation: Situation): Step {
  const { row, wanted, differs, unmounted, mounting } = situation;
  if (row === undefined) return wanted === undefined ? "done" : "create";
  if (wanted !== undefined && wanted.driver !== row.driver) return "conflict";
  // Stored as disabled while its driver serves on and may write back: only a mount and a clean
  // disable end it.
  if (row.disabled && row.status === "work") return "enable";
  const isStuck = isUnfinished(row) && !mounting;
  const isToBeOff = wanted === undefined || wanted.disabled || differs || isStuck;
  if (!row.disabled && isToBeOff) {
    // OpenList deletes it all the same, AList does not.
    if (wanted === undefined && situation.undroppable) return "delete";
    if (!unmounted) return "disable";
    // Enabled, and not in the server's memory: an update that disables it is the only way out, and
    // not while the mount may still come.
    return mounting ? "wait" : "update";
  }
  if (wanted === undefined) return "delete";
  if (differs) return "update";
  return row.disabled && !wanted.disabled ? "enable" : "done";
}

/** An enabled row that no mount has ended for: it is mounting, or the server broke off. */
export function isUnfinished(row: StorageRow): boolean {
  return !row.disabled && (row.status === "" || row.status === "disabled");
}

/** The stuck state of a row with its cure; empty: it is in none. */
export function stuckState(row: StorageRow, mounting: boolean): Text {
  if (row.disabled && row.status === "work") return message("MOUNT_DISABLED_SERVES");
  if (isUnfinished(row) && !mounting) return message("MOUNT_ENABLED_UNMOUNTED");
  return "";
}
