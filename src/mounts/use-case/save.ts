import { checkInputs } from "../../records/limit.ts";
import { namesSites } from "../../sites/site-choice-input.ts";
import type { MountChanges } from "../changes.ts";
import type { MountService } from "../mount-service.ts";
import { decideSave } from "../save.ts";

export function saveMounts(changes: MountChanges): MountService["save"] {
  return async (inputs, caller, options = {}) => {
    checkInputs("mounts", inputs);
    if (inputs.some(namesSites)) await changes.siteNames();
    return changes.commit(caller, options, (draft, mounts) =>
      decideSave(draft, inputs, mounts, changes.rulesOf(caller, options)),
    );
  };
}
