import type { MountChanges } from "../changes.ts";
import type { MountService } from "../mount-service.ts";
import { decideDelete } from "../save.ts";
import { checkNames } from "./limit.ts";

export function deleteMounts(changes: MountChanges): MountService["delete"] {
  return async (names, caller, options = {}) => {
    checkNames(names);
    return changes.commit(caller, options, (draft) =>
      decideDelete(draft, names, (mount, name) => {
        const known = changes.require(caller.grant, mount, name);
        changes.refuseManaged(name);
        return known;
      }),
    );
  };
}
