import { message, type Text } from "../messages/message.ts";
import { createTrial } from "../settings/draft.ts";
import type { Engine } from "../settings/engine.ts";
import { FLAG } from "../settings/item.ts";
import { decideItems, problemOf, type SettingInput } from "../settings/save.ts";
import type { Snapshot } from "../settings/snapshot.ts";
import type { RevisionOrigin } from "../settings/store.ts";
import { normalizeStoredValue } from "../settings/value.ts";
import type { Changed } from "../settings/writer.ts";
import { createTicks } from "../ticks.ts";
import type { SiteRow } from "./client.ts";
import type { Comparison } from "./compare.ts";

/** Result for one setting of a site. */
export interface Adopted {
  readonly key: string;
  readonly outcome: "changed" | "added" | "refused" | "skipped";
  /** Why it was refused or skipped; empty otherwise. Never a secret value. */
  readonly reason: Text;
}

/** Names of keys that hold a secret: a setting that Mooring does not know is not marked as secret. */
const SECRET_NAME = /(secret|token|passw|passphrase|private_key|access_key|secret_key)/i;

/**
 * Stores a site's values in Mooring, in one revision. Values that Mooring's rules refuse are listed and
 * stay unchanged on both sides.
 *
 * @param base snapshot of the comparison; settings that have changed since are skipped.
 */
export async function adopt(
  comparisons: readonly Comparison[],
  deps: {
    readonly engine: Engine;
    readonly base: Snapshot;
    readonly managedBy: (key: string) => string | undefined;
    /** Maximum size of a value in UTF-8 bytes. */
    readonly maxValueBytes: number;
    readonly origin: RevisionOrigin;
    readonly dryRun: boolean;
  },
): Promise<Changed<readonly Adopted[]>> {
  const { engine, base, managedBy, maxValueBytes, origin, dryRun } = deps;
  const rules = { managedBy: () => undefined, maxValueBytes };
  return engine.change(
    origin,
    async (draft) => {
      const ticks = createTicks();
      const trial = createTrial(draft);
      const adopted = async (comparison: Comparison): Promise<Adopted[]> => {
        const { key, item, row } = comparison;
        if (row === undefined || comparison.overridden) return [];
        const refuse = (reason: Text): Adopted[] => [{ key, outcome: "refused", reason }];
        const now = draft.get(key);
        if (now?.revision !== base.get(key)?.revision)
          return [{ key, outcome: "skipped", reason: message("CHANGED_MEANWHILE") }];
        const manager = managedBy(key);
        if (manager !== undefined) return refuse(message("MANAGED_BY_FILE", { file: manager }));
        if (item === undefined && row.flag === FLAG.private && SECRET_NAME.test(key))
          return refuse(message("SECRET_STAYS_AT_SITE"));
        const input: SettingInput =
          item === undefined
            ? definitionOf(row)
            : {
                key,
                value: item.definition
                  ? normalizeStoredValue(item.definition, row.value)
                  : row.value,
              };
        const problem = problemOf(trial, input, rules);
        if (problem !== undefined) return refuse(problem);
        await decideItems(draft, [input], rules);
        return [{ key, outcome: now === undefined ? "added" : "changed", reason: "" }];
      };
      const all: Adopted[] = [];
      for (const comparison of comparisons) {
        if (ticks.isDue()) await ticks.next();
        all.push(...(await adopted(comparison)));
      }
      return all;
    },
    { dryRun },
  );
}

/** Input of a custom setting from a site's row; other members of the row are ignored. */
function definitionOf({ key, value, type, options, help, group, flag }: SiteRow): SettingInput {
  return { key, value, type, options, help, group, flag };
}
