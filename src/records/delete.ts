import { resultAs } from "../history/record-result.ts";
import type { Caller, ChangeOptions, Saved } from "./caller.ts";
import type { RecordChanges } from "./changes.ts";
import type { SiteKind, SiteRecord } from "./kind.ts";
import { requireKeys } from "./limit.ts";

/** @param field name of the keys in the request. */
export function deleteRecords<R extends SiteRecord>(
  { token }: SiteKind<R>,
  changes: RecordChanges<R>,
  field: string,
): (keys: readonly string[], caller: Caller, options?: ChangeOptions) => Promise<Saved> {
  return async (requested, caller, options = {}) => {
    requireKeys(field, requested);
    const keys = [...new Set(requested)];
    return changes.commit(caller, options, (draft) =>
      keys.map((key) => {
        changes.require(caller.grant, draft.get(token, key), key);
        changes.refuseManaged(key);
        draft.delete(token, key);
        return resultAs(key, "deleted");
      }),
    );
  };
}
