import { Code } from "@connectrpc/connect";
import { type RecordResult, resultAs } from "../history/record-result.ts";
import type { Draft } from "../ledger/draft.ts";
import { entryProblem } from "../messages/entry-problem.ts";
import { invalid, ServiceError } from "../messages/error.ts";
import { joinTexts, message } from "../messages/message.ts";
import type { SiteNames } from "../sites/site-names.ts";
import { createTicks } from "../ticks.ts";
import type { MountInput } from "./input.ts";
import { type MountIndex, missingFields } from "./mount.ts";
import { decideSave, type SaveRules } from "./save.ts";

/**
 * Saves each input by itself on a draft. An input that is rejected is skipped, with the reason.
 *
 * @param mounts all mounts of the draft, by name; updated.
 * @param nameOf name of a skipped input. Default: its path.
 * @returns the results of the saved inputs, followed by those of the skipped ones.
 * @throws PERMISSION_DENIED.
 */
export async function saveUsable(
  draft: Draft,
  inputs: readonly MountInput[],
  mounts: MountIndex,
  rules: SaveRules,
  nameOf = ({ path, name }: MountInput): string => path ?? name,
): Promise<RecordResult[]> {
  const ticks = createTicks();
  const saved: RecordResult[] = [];
  const skipped: RecordResult[] = [];
  const names = new Set<string>();
  const save = async (input: MountInput): Promise<RecordResult | ServiceError> => {
    const before = mounts.get(input.name);
    try {
      const [result] = await decideSave(draft, [input], mounts, rules);
      return result as RecordResult;
    } catch (error) {
      if (before === undefined) mounts.delete(input.name);
      else mounts.set(input.name, before);
      if (error instanceof ServiceError && error.code !== Code.PermissionDenied) return error;
      throw error;
    }
  };
  for (const input of inputs) {
    if (ticks.isDue()) await ticks.next();
    const result = names.has(input.name) ? repeated(input) : await save(input);
    if (result instanceof ServiceError) {
      skipped.push(resultAs(nameOf(input), "skipped", entryProblem(result, "mounts[0].")));
      continue;
    }
    names.add(input.name);
    saved.push(withNotes(result, input, rules.sites));
  }
  return [...saved, ...skipped];
}

/** Adds notes about values that the source lacks, or that the mount does not keep. */
export function withNotes(
  result: RecordResult,
  { lost = [], leftOut = [], newer = [], kept = [] }: MountInput,
  sites: SiteNames,
): RecordResult {
  const items = missingFields({ missing: lost }, sites).join(", ");
  const isIncomplete = result.outcome !== "unchanged" && lost.length > 0;
  return {
    ...result,
    leftOut,
    kept,
    note: joinTexts([
      isIncomplete ? message("MOUNT_SECRETS_NOT_IN_DOCUMENT", { items }) : "",
      result.note,
      newer.length > 0 ? message("REFRESHED_KEPT", { items: newer.join(", ") }) : "",
      leftOut.length > 0 ? message("LEFT_OUT", { names: leftOut.join(", ") }) : "",
    ]),
  };
}

function repeated({ name }: MountInput): ServiceError {
  const field = "mounts[0].name";
  return invalid([{ field, description: message("MOUNT_REPEATED", { field, name }) }]);
}
