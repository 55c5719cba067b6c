import { ROOT } from "../../access/grant.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { MountChanges } from "../changes.ts";
import { wholeInput } from "../input.ts";
import { draftMounts } from "../kind.ts";
import type { DeclaredMounts } from "../mount-service.ts";
import { decideSave } from "../save.ts";

export function declareMounts(
  changes: MountChanges,
  ledger: Pick<Ledger, "change">,
): DeclaredMounts["declare"] {
  return async (inputs, origin, by, { dryRun = false } = {}) => {
    const rules = {
      ...changes.rulesOf({ grant: ROOT, origin }, { allowShared: true }),
      isWhole: true,
      managedBy: () => undefined,
    };
    const change = () =>
      ledger.change(
        origin,
        async (draft) => {
          const mounts = draftMounts(draft);
          const whole = inputs.map((input) =>
            wholeInput(input, mounts.get(input.name), rules.sites),
          );
          await decideSave(draft, whole, mounts, rules);
        },
        { dryRun },
      );
    const names = inputs.map(({ name }) => name);
    await (dryRun ? change() : changes.declared.replace(names, by, change));
  };
}
