import type { ArchiveEntry, Declared } from "../../archive/part.ts";
import type { RecordResult } from "../../history/record-result.ts";
import type { Draft } from "../../ledger/draft.ts";
import { rejectViolations, ServiceError, type Violation } from "../../messages/error.ts";
import { createTicks } from "../../ticks.ts";
import type { MountInput } from "../input.ts";
import type { MountIndex } from "../mount.ts";
import { decideSave, type SaveRules } from "../save.ts";
import { mountSaver } from "../saver.ts";
import { declaredInput } from "./entry-input.ts";
import { isSameManaged } from "./same-managed.ts";

/**
 * Saves the mounts that a file declares: all together or none.
 *
 * @throws INVALID_ARGUMENT with every violation; its fields are those of the entries, such as
 *   `mounts[3].config.root_folder_path`.
 */
export async function saveDeclared(
  draft: Draft,
  entries: readonly ArchiveEntry[],
  mounts: MountIndex,
  rules: SaveRules,
  { file }: Declared,
): Promise<readonly RecordResult[]> {
  const ticks = createTicks();
  const inputs: MountInput[] = [];
  const unchanged = new Set<string>();
  const violations: Violation[] = [];
  const broken = new Set<number>();
  for (const [at, entry] of entries.entries()) {
    if (ticks.isDue()) await ticks.next();
    const before = mounts.get(entry.name);
    const { input, problems } = declaredInput(entry, before, {
      names: rules.sites,
      // The file that this service follows alone gives a mount a new credential.
      keepsRefreshed: file === undefined,
      reveals: rules.reveals,
    });
    if (problems.length > 0) broken.add(at);
    for (const { path, problem } of problems)
      violations.push({ field: [`mounts[${at}]`, ...path].join("."), description: problem });
    if (isSameManaged(before, input, rules)) unchanged.add(entry.name);
    inputs.push(input);
  }
  const managedBy = (name: string) => (unchanged.has(name) ? undefined : rules.managedBy(name));
  const saved = await decideSave(draft, inputs, mounts, { ...rules, managedBy }).catch(
    (error: unknown): RecordResult[] => {
      if (!(error instanceof ServiceError) || error.violations.length === 0) throw error;
      violations.push(...error.violations.filter(({ field }) => !broken.has(indexOf(field))));
      return [];
    },
  );
  rejectViolations(violations);
  const { noted } = mountSaver(draft, rules);
  return saved.map((result, at) => noted(result, inputs[at] as MountInput));
}

/** Index of an entry in a field such as `mounts[3].config`. */
function indexOf(field: string): number {
  return Number(/^mounts\[(\d+)\]/.exec(field)?.[1] ?? -1);
}
