import type { SettingChanges } from "../../gen/mooring/v1/setting_pb.js";
import { writeChanges } from "./change-table.ts";
import type { Output } from "./output.ts";
import { counted } from "./quantity.ts";

/** How a save has ended, or would. */
export interface Saved {
  readonly revision: bigint;
  readonly preview?: SettingChanges | undefined;
  readonly dryRun: boolean;
  /** The revision before, where it is known. */
  readonly before?: bigint | undefined;
}

/** Says for people what a save did, or with a dry run what it would do. */
export async function writeSaved(output: Output, saved: Saved): Promise<void> {
  const { revision, preview, dryRun, before } = saved;
  if (!dryRun) {
    const text = before === revision ? "nothing to change: still" : "saved:";
    return output.write(`${text} revision ${revision}\n`);
  }
  const changes = preview?.changes ?? [];
  if (changes.length > 0) await writeChanges(output, changes);
  await output.write(`dry run: ${counted(changes.length, "setting")} would change\n`);
}
