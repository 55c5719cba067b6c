import { createTrial } from "../../ledger/draft.ts";
import type { Ledger } from "../../ledger/ledger.ts";
import type { Snapshot } from "../../ledger/snapshot.ts";
import type { RevisionOrigin } from "../../ledger/store.ts";
import type { Changed } from "../../ledger/writer.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue, setOwn } from "../../own-value.ts";
import { redirectedSecrets } from "../../settings/destination.ts";
import { FLAG, type SettingItem } from "../../settings/item.ts";
import { SETTINGS } from "../../settings/kind.ts";
import { decideItems, problemOf, redirection, type SettingInput } from "../../settings/save.ts";
import { normalizeStoredValue } from "../../settings/value.ts";
import { createTicks } from "../../ticks.ts";
import type { ReplacedValue, SiteState } from "../site.ts";
import type { SiteEvent } from "../store.ts";
import type { SiteRow } from "./client.ts";
import type { Comparison } from "./compare.ts";
import type { Round } from "./round.ts";

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
    readonly ledger: Ledger;
    readonly base: Snapshot;
    readonly managedBy: (key: string) => string | undefined;
    /** Maximum size of a value in UTF-8 bytes. */
    readonly maxValueBytes: number;
    readonly origin: RevisionOrigin;
    readonly dryRun: boolean;
    /** Whether the caller may read secrets. Default: true. */
    readonly reveals?: boolean;
  },
): Promise<Changed<readonly Adopted[]>> {
  const { ledger, base, managedBy, maxValueBytes, origin, dryRun, reveals = true } = deps;
  // A site with another address for a secret has the secret too if it differs here.
  const given = new Set(comparisons.map(({ key }) => key));
  const hides = ({ secret }: SettingItem): boolean => secret && !reveals;
  const rules = { managedBy: () => undefined, maxValueBytes };
  return ledger.change(
    origin,
    async (draft) => {
      const ticks = createTicks();
      const trial = createTrial(draft);
      const adopted = async (comparison: Comparison): Promise<Adopted[]> => {
        const { key, item, row } = comparison;
        if (row === undefined || comparison.overridden) return [];
        const refuse = (reason: Text): Adopted[] => [{ key, outcome: "refused", reason }];
        const now = draft.get(SETTINGS, key);
        if (now?.revision !== base.get(SETTINGS, key)?.revision)
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
        const redirected = redirectedSecrets(draft, key, { hides, given });
        if (redirected.length > 0) return refuse(redirection(key, redirected));
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

/** Maximum number of stored refusals, which waiting calls read. */
const MAX_KEPT = 100;
/** Maximum length of a revision's reason, in characters; the ledger accepts 500. */
const MAX_REASON = 480;

export interface AdoptRefusedDeps {
  readonly ledger: Ledger;
  /** Snapshot of the round. */
  readonly snapshot: Snapshot;
  /** Maximum size of a value in UTF-8 bytes. */
  readonly maxValueBytes: number;
  readonly now: () => number;
}

interface Refusal extends ReplacedValue {
  readonly key: string;
}

/**
 * Replaces values that the upstream refused by its own values, as one revision, and keeps the
 * refusals in the site's state for the callers who saved them. A settings file does not keep a
 * refused value either. The next round completes an interrupted one: it depends on the recorded
 * refusals, not on the values pushed by this round.
 *
 * @param round a finished push round of the upstream.
 * @throws ServiceError when the database takes no changes.
 */
export async function adoptRefused(round: Round, deps: AdoptRefusedDeps): Promise<Round> {
  const { ledger, snapshot, maxValueBytes, now } = deps;
  const refused = round.comparisons.filter(
    ({ sync, overridden }) => sync === "refused" && !overridden,
  );
  if (refused.length === 0) return round;
  const refusals = refused.map((one) => refusalOf(one, refused, round.state, snapshot));
  const origin: RevisionOrigin = {
    actor: "sites",
    transport: "upstream",
    method: "AdoptSite",
    requestId: "",
    peer: "",
    reason: reasonOf(refusals),
  };
  // The store refuses NUL.
  const taken = refused.filter(({ row }) => row?.value.includes("\0") === false);
  const { result, revision } = await adopt(taken, {
    ledger,
    base: snapshot,
    maxValueBytes,
    origin,
    dryRun: false,
    reveals: true,
    managedBy: () => undefined,
  });
  const stillRefused = { ...round.state.refused };
  const held = { ...round.state.held };
  for (const { key, outcome, reason } of result) {
    if (outcome === "skipped") continue;
    delete stillRefused[key];
    if (outcome === "refused")
      setOwn(held, key, { revision: snapshot.get(SETTINGS, key)?.revision ?? 0, reason });
  }
  const keys = result.flatMap(({ key, outcome }) => (outcome === "changed" ? [key] : []));
  const event: SiteEvent = {
    time: now(),
    actor: origin.actor,
    action: "adopt",
    revision,
    keys,
    result: message("TAKEN_BACK"),
  };
  return {
    ...round,
    state: {
      ...round.state,
      refused: stillRefused,
      held,
      replaced: withRefusals(round.state.replaced, refusals),
    },
    events: keys.length === 0 ? round.events : [...round.events, event],
  };
}

/** Adds refusals to those that are kept; the oldest are dropped. */
function withRefusals(
  kept: SiteState["replaced"],
  refusals: readonly Refusal[],
): SiteState["replaced"] {
  const all: Record<string, ReplacedValue> = { ...kept };
  for (const { key, ...refusal } of refusals) setOwn(all, key, refusal);
  return Object.fromEntries(
    Object.entries(all)
      .sort(([, a], [, b]) => b.revision - a.revision)
      .slice(0, MAX_KEPT),
  );
}

function refusalOf(
  { key, note, item }: Comparison,
  refused: readonly Comparison[],
  state: SiteState,
  snapshot: Snapshot,
): Refusal {
  const revision = item?.revision ?? 0;
  const isOther = (other: SettingItem): boolean =>
    other.revision === revision && !refused.some((one) => one.key === other.key);
  return {
    key,
    revision,
    reason: note,
    code: ownValue(state.refused, key)?.code ?? 0,
    isPart: Array.from(snapshot.of(SETTINGS).items()).some(isOther),
  };
}

/** Reason of the revision, in English as all reasons. */
function reasonOf(refusals: readonly Refusal[]): string {
  const text = refusals
    .map(
      ({ key, revision, reason }) =>
        `the upstream refused ${key} of revision ${revision}: ${reason}`,
    )
    .join("; ");
  return text.length > MAX_REASON ? `${text.slice(0, MAX_REASON).toWellFormed()}…` : text;
}
