import {
  type ArchiveEntry,
  chosenOf,
  type ImportContext,
  type StorePart,
} from "../../archive/part.ts";
import { actorOf, doneEntry } from "../../audit/entry.ts";
import { createTicks } from "../../ticks.ts";
import type { Change } from "../change.ts";
import { checkPrincipalCount } from "../principal.ts";
import type { AccessRegistry } from "../registry.ts";
import { checkTokenCount } from "../token.ts";
import { toEntry } from "./entry.ts";
import { type Known, type PrincipalPlan, planPrincipal } from "./plan.ts";

/** Maximum number of principals of an import. */
const MAX_PRINCIPALS = 10_000;

export interface AccessPartDeps {
  readonly registry: Pick<AccessRegistry, "fresh" | "principals" | "tokens" | "now">;
  readonly change: Change;
  readonly randomBytes: (size: number) => Buffer;
}

/**
 * Principals in archives, with the definitions of their tokens. The hash of a token is its secret: with
 * it, the token is accepted after an import; without it, `token rotate` creates a successor with the
 * same rights. An import never gives a token rights that the caller lacks, never changes a token that
 * exists, and never enables a disabled principal. Only the permanent token states who created or
 * revoked something; for others, that is the caller.
 */
export function createAccessPart(deps: AccessPartDeps): StorePart {
  const { registry, change } = deps;
  return {
    kind: "store",
    name: "principals",
    exportScope: "tokens:manage",
    importScopes: ["tokens:manage"],
    most: MAX_PRINCIPALS,
    export: async ({ grant, names, withSecrets }) => {
      await registry.fresh();
      const tokens = Map.groupBy(registry.tokens(), ({ principalId }) => principalId);
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.principals(), names)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((principal) => toEntry(principal, tokens.get(principal.id) ?? [], isShown)),
      };
    },
    write: async ({ entries = [] }, context) => {
      if (entries.length === 0) return [];
      await registry.fresh();
      const now = registry.now();
      const expected = await planAll(deps, entries, replicaOf(registry), { context, now });
      if (context.dryRun || expected.every(isNothing)) return expected.map(({ result }) => result);
      return change(async (transaction) => {
        const plans = await planAll(deps, entries, transaction, { context, now });
        const { origin } = context.caller;
        const audit = plans
          .filter((plan) => !isNothing(plan))
          .map(({ name, tokens }) =>
            doneEntry(origin, now, [name, ...tokens.map(({ id }) => actorOf(name, id))], {
              tokens: tokens.length,
            }),
          );
        await transaction.write({
          principals: plans.flatMap(({ principal }) => principal ?? []),
          tokens: plans.flatMap(({ tokens }) => tokens),
          audit,
        });
        return plans.map(({ result }) => result);
      });
    },
  };
}

/** Plans all entries, and checks the numbers of principals and tokens. */
async function planAll(
  { registry, randomBytes }: AccessPartDeps,
  entries: readonly ArchiveEntry[],
  known: Known,
  { context, now }: { readonly context: ImportContext; readonly now: number },
): Promise<readonly PrincipalPlan[]> {
  const { caller } = context;
  const ticks = createTicks(context.signal);
  const plans: PrincipalPlan[] = [];
  for (const entry of entries) {
    if (ticks.isDue()) await ticks.next();
    plans.push(await planPrincipal(entry, { known, caller, now, randomBytes }));
  }
  const created = plans.filter(({ result }) => result.outcome === "created");
  if (created.length > 0) checkPrincipalCount(registry, created.length);
  const added = plans.reduce((sum, plan) => sum + plan.added, 0);
  if (added > 0) await checkTokenCount(known, added);
  return plans;
}

function isNothing({ principal, tokens }: PrincipalPlan): boolean {
  return principal === undefined && tokens.length === 0;
}

function replicaOf(registry: Pick<AccessRegistry, "principals" | "tokens">): Known {
  const principals = new Map(registry.principals().map((each) => [each.name, each]));
  const tokens = new Map(Array.from(registry.tokens(), (token) => [token.id, token]));
  return {
    principalNamed: async (name) => principals.get(name),
    token: async (id) => tokens.get(id),
    tokenCount: async () => tokens.size,
  };
}
