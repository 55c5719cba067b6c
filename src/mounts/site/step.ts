import { message, type Text } from "../../messages/message.ts";
import type { StorageRow } from "./row.ts";

/** Call that changes a mount of a site. */
export type Step = "create" | "disable" | "update" | "enable" | "delete";

/**
 * Decision about a mount.
 * - a step: this call.
 * - `read`: the row, by its id.
 * - `confirm`: the values that the site has stored in place of the sent ones count as equal.
 * - `end`: nothing more in this run, with its error; empty: none.
 */
export type Next =
  | { readonly do: Step | "read" | "confirm" }
  | { readonly do: "end"; readonly error: Text };

/** All that the decision about a mount depends on. */
export interface Situation {
  /** The row as it was last read; undefined: the site has none. */
  readonly row: StorageRow | undefined;
  /** Desired mount; undefined: none. */
  readonly wanted: { readonly driver: string; readonly disabled: boolean } | undefined;
  /** Whether the row was read by itself. The list of the round may be outdated. */
  readonly isFresh: boolean;
  /** Whether the row's configuration can be read. */
  readonly isReadable: boolean;
  /** Whether items or members differ. */
  readonly differs: boolean;
  /** Secrets of the site alone that an update would send to another destination. */
  readonly keptSecrets: readonly string[];
  /** Whether the row may contain values of a push that the driver has normalised since. */
  readonly isUnconfirmed: boolean;
  /** Whether the site has refused to disable the mount because it is not in the site's memory. */
  readonly isUnmounted: boolean;
  /** Whether the site has refused to disable the mount because its driver can't be stopped. */
  readonly isUndroppable: boolean;
  /** Whether an unfinished mount may still complete. */
  readonly isMounting: boolean;
  /** Whether the mount is to be mounted again, because it fails. */
  readonly isToRemount: boolean;
  /** Whether the run has ended: the mount was deleted, or a call has failed. */
  readonly isOver: boolean;
  /** Error of the last call; empty: none. */
  readonly error: Text;
}

/**
 * Decides what comes next for a mount. The order of the calls is disable, update, enable and disable,
 * delete: no driver runs in between that could write its old row back. The decision depends on the
 * row, so that after a crash between two calls the next round continues from the row.
 */
export function nextStep(situation: Situation): Next {
  const { row, wanted, error } = situation;
  if (situation.isOver || error !== "") return { do: "end", error };
  if (row !== undefined && wanted !== undefined) {
    if (!situation.isReadable) return { do: "end", error: message("MOUNT_UNREADABLE") };
    // The server has not ended mounting it: its values are not final.
    if (situation.isUnconfirmed && isUnfinished(row)) return { do: "end", error: "" };
    if (situation.isUnconfirmed && !row.disabled) return { do: "confirm" };
    if (wanted.driver !== row.driver)
      return { do: "end", error: message("MOUNT_OTHER_DRIVER", { driver: row.driver }) };
  }
  const step = callFor(situation);
  if (step === "done") return { do: "end", error: "" };
  if (step === "wait") return { do: "end", error: message("MOUNT_UNDER_WAY") };
  if (situation.keptSecrets.length > 0)
    return {
      do: "end",
      error: message("MOUNT_SECRETS_OF_SITE", { items: situation.keptSecrets.join(", ") }),
    };
  return { do: row === undefined || situation.isFresh ? step : "read" };
}

/** The call that brings a row nearer to the desired mount. `wait`: none before it has ended mounting. */
function callFor(situation: Situation): Step | "wait" | "done" {
  const { row, wanted, differs, isUnmounted, isMounting } = situation;
  if (row === undefined) return wanted === undefined ? "done" : "create";
  // Stored as disabled while its driver still runs and may write its row back: only enabling and
  // disabling it again stops the driver.
  if (row.disabled && row.status === "work") return "enable";
  const isStuck = isUnfinished(row) && !isMounting;
  const isToBeOff =
    wanted === undefined || wanted.disabled || differs || isStuck || situation.isToRemount;
  if (!row.disabled && isToBeOff) {
    // OpenList deletes it anyway, AList does not.
    if (wanted === undefined && situation.isUndroppable) return "delete";
    if (!isUnmounted) return "disable";
    // Enabled, but not in the server's memory: only an update can disable the mount, and not while
    // it may still complete.
    return isMounting ? "wait" : "update";
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
export function stuckState(row: StorageRow, isMounting: boolean): Text {
  if (row.disabled && row.status === "work") return message("MOUNT_DISABLED_SERVES");
  if (isUnfinished(row) && !isMounting) return message("MOUNT_ENABLED_UNMOUNTED");
  return "";
}
