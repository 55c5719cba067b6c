import type { Ledger } from "../../ledger/ledger.ts";
import { NO_RECORD } from "../../ledger/record-etag.ts";
import { failedPrecondition } from "../../messages/error.ts";
import { message } from "../../messages/message.ts";
import { overridesByName, siteNamesOf } from "../../sites/site-choice.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { MountChanges } from "../changes.ts";
import type { MountInput } from "../input.ts";
import { draftMounts, MOUNTS } from "../kind.ts";
import { type Mount, missingFields } from "../mount.ts";
import type { MountService } from "../mount-service.ts";
import type { MountView } from "../mount-view.ts";
import { decideSave } from "../save.ts";
import { sharedCredentials } from "../site/item-kind.ts";

export function copyMount(
  changes: MountChanges,
  { ledger, view }: { readonly ledger: Pick<Ledger, "change">; readonly view: MountView },
): MountService["copy"] {
  return async (name, to, caller, options = {}) => {
    const { grant } = caller;
    const { result } = await ledger.change(caller.origin, async (draft) => {
      const from = changes.require(grant, draft.get(MOUNTS, name), name);
      const rules = { ...changes.rulesOf(caller, options), carries: true };
      refuseIncomplete(from, rules.sites);
      const shared = sharedCredentials(from.driver, [from.items, from.items]);
      if (shared.length > 0 && options.allowShared !== true)
        throw failedPrecondition(
          message("COPY_SHARES_CREDENTIAL", { copy: to.name, name, items: shared.join(", ") }),
        );
      await decideSave(draft, [inputOf(from, to, rules.sites)], draftMounts(draft), rules);
      return draft.get(MOUNTS, to.name);
    });
    return changes.require(grant, view.all().get(to.name) ?? result, to.name);
  };
}

function refuseIncomplete(mount: Mount, sites: SiteNames): void {
  const { name, missing } = mount;
  if (missing.length === 0) return;
  const items = missingFields(mount, sites).join(", ");
  throw failedPrecondition(message("COPY_INCOMPLETE", { name, items }));
}

/** A copy does not reveal secrets: they are copied, but not returned. */
function inputOf(
  from: Mount,
  { name, path }: { readonly name: string; readonly path: string },
  sites: SiteNames,
): MountInput {
  const { driver, disabled, content, items, members } = from;
  return {
    name,
    path,
    driver,
    disabled,
    content,
    sites: siteNamesOf(from, sites),
    config: items,
    members,
    expectedEtag: NO_RECORD,
    overrides: Object.fromEntries(
      overridesByName(from, sites).map(([site, own]) => [
        site,
        { path: "", config: own.items, members: own.members },
      ]),
    ),
  };
}
