import type { Draft } from "../ledger/draft.ts";
import { type Saver, withSourceNotes } from "../records/save-each.ts";
import { secretFields } from "../records/shown-secret.ts";
import type { MountInput } from "./input.ts";
import { SITE_MOUNTS } from "./kind.ts";
import type { Mount } from "./mount.ts";
import { decideSave, type SaveRules } from "./save.ts";

/** Saves mounts of a source, such as an archive or a site, on a draft. */
export function mountSaver(draft: Draft, rules: SaveRules): Saver<Mount, MountInput> {
  return {
    keyOf: ({ name }) => name,
    save: (inputs, mounts) => decideSave(draft, inputs, mounts, rules),
    noted: (result, { lost = [], leftOut = [], newer = [], kept = [] }) =>
      withSourceNotes(SITE_MOUNTS, result, {
        lost: secretFields(SITE_MOUNTS, lost, rules.sites),
        leftOut,
        kept,
        newer,
      }),
  };
}

/** Name of a mount of a source that is skipped: its path, from which its name was derived. */
export function skippedName({ path, name }: MountInput): string {
  return path ?? name;
}
