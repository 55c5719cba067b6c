// Results of saves as text for people.

import type { PendingSite, SettingChanges } from "../../gen/mooring/v1/setting_pb.js";
import { counted } from "./argument.ts";
import { writeChanges } from "./change-table.ts";
import { type Output, printableLine } from "./output.ts";

/** Result of a save or its dry run. */
export interface Saved {
  readonly revision: bigint;
  readonly preview?: SettingChanges | undefined;
  readonly dryRun: boolean;
  /** Revision before the save; undefined: unknown. */
  readonly previousRevision?: bigint | undefined;
}

/** Writes the result of a save, or of its dry run. */
export async function writeSaved(output: Output, saved: Saved): Promise<void> {
  const { revision, preview, dryRun, previousRevision } = saved;
  if (!dryRun) {
    const text = previousRevision === revision ? "no changes:" : "saved:";
    return output.write(`${text} revision ${revision}\n`);
  }
  const changes = preview?.changes ?? [];
  if (changes.length > 0) await writeChanges(output, changes);
  await output.write(`dry run: ${counted(changes.length, "setting")} would change\n`);
}

/** Notes on standard error each following site that does not have a change yet, with the reason. */
export function notePendingSites(
  { notice }: { notice(text: string): void },
  sites: readonly PendingSite[],
): void {
  for (const { site, reason } of sites)
    notice(printableLine(`${site} does not have it yet: ${reason}`));
}
