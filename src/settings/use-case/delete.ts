import { RevisionConflict } from "../../ledger/conflict.ts";
import type { Draft } from "../../ledger/draft.ts";
import { type Line, readEtag } from "../../ledger/etag.ts";
import { type RecordEtags, revisionOfRecord } from "../../ledger/record-etag.ts";
import { failedPrecondition } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { refuseChanged } from "../conflict.ts";
import { FLAG } from "../item.ts";
import { SETTINGS, settingNamed, unknownSetting } from "../kind.ts";
import type { SettingChanges } from "../setting-changes.ts";
import type { SettingService } from "../setting-service.ts";

export function deleteSetting(
  changes: SettingChanges,
  { line, etags }: { readonly line: Line; readonly etags: RecordEtags },
): SettingService["delete"] {
  return async (key, origin, { expectedEtag } = {}) => {
    origin.rights?.require([key]);
    const isOfSetting = expectedEtag !== undefined && isSettingEtag(expectedEtag);
    const expected =
      expectedEtag === undefined || isOfSetting ? undefined : await line.require(expectedEtag);
    return changes.change(origin, {}, (draft) => {
      if (isOfSetting && draft.get(SETTINGS, key) !== undefined)
        refuseChanged(draft, [{ key, expectedEtag }], etags);
      decideDelete(draft, key, expected);
    });
  };
}

/** Reports whether an etag is that of a setting; otherwise it is that of a state. */
function isSettingEtag(etag: string): boolean {
  return readEtag(etag) === undefined && revisionOfRecord(etag) !== undefined;
}

function decideDelete(draft: Draft, key: string, expected: number | undefined): void {
  const item = draft.get(SETTINGS, key);
  if (item === undefined) throw unknownSetting(key);
  if (expected !== undefined && (item.revision > expected || expected > draft.revision))
    throw new RevisionConflict(expected, settingNamed(key));
  if (item.flag !== FLAG.deprecated) throw failedPrecondition(message("SETTING_IN_USE", { key }));
  draft.delete(SETTINGS, key);
}
