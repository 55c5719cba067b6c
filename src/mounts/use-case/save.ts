import { invalid } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import type { MountChanges } from "../changes.ts";
import type { MountInput } from "../input.ts";
import type { MountService } from "../mount-service.ts";
import { decideSave } from "../save.ts";
import { MAX_REQUEST } from "./limit.ts";

export function saveMounts(changes: MountChanges): MountService["save"] {
  return async (inputs, caller, options = {}) => {
    checkCount(inputs);
    if (inputs.some(namesSites)) await changes.siteNames();
    return changes.commit(caller, options, (draft, mounts) =>
      decideSave(draft, inputs, mounts, changes.rulesOf(caller, options)),
    );
  };
}

function checkCount({ length }: readonly MountInput[]): void {
  const field = "mounts";
  if (length === 0)
    throw invalid([{ field, description: message("GIVE_AT_LEAST_ONE", { field }) }]);
  if (length > MAX_REQUEST)
    throw invalid([
      { field, description: message("TOO_MANY_ENTRIES", { field, most: MAX_REQUEST }) },
    ]);
}

/** Reports whether an input names sites. */
function namesSites({ sites, overrides = {} }: MountInput): boolean {
  return typeof sites === "object" || Object.keys(overrides).length > 0;
}
