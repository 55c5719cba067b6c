import type { Grant } from "../access/grant.ts";
import type { AuditOrigin } from "../audit/entry.ts";
import type { RecordKind } from "../history/kind.ts";
import type { RecordResult } from "../history/record-result.ts";
import type { Caller, ChangeOptions, Saved } from "../records/caller.ts";
import type { RecordEtag } from "../records/etag.ts";
import type { EffectsOnRecords } from "../sites/record-effect.ts";
import type { View } from "../state-feed.ts";
import type { RuleInput } from "./input.ts";
import type { Rule } from "./rule.ts";
import type { RuleStatus } from "./rule-status.ts";
import type { WatchedRules } from "./watch.ts";

/** Folder rules. A rule is named by its path, in any notation that servers accept. */
export interface RuleService extends Pick<EffectsOnRecords, "leave"> {
  revision(): number;
  readonly etagOf: RecordEtag<Rule>;
  /** Rules as a kind of records in the history. */
  readonly kind: RecordKind;
  /**
   * Path of the rule that a request names. The path of no rule is cleaned.
   *
   * @param text path in any notation, or in another Unicode normalization.
   */
  pathOf(text: string): string;
  /**
   * Rules that the caller may read, sorted by path.
   *
   * @param site only those on this site; empty: all. @throws NOT_FOUND for an unknown site.
   */
  list(grant: Grant, site?: string): Promise<readonly Rule[]>;
  /** @throws NOT_FOUND; PERMISSION_DENIED. */
  get(path: string, grant: Grant): Rule;
  /** Rules at these paths. */
  saved(paths: ReadonlySet<string>): readonly Rule[];
  /** Status of a rule on each of its sites. */
  statuses(rule: Rule): readonly RuleStatus[];
  /** Number of all sites. */
  siteCount(): number;
  save(inputs: readonly RuleInput[], caller: Caller, options?: ChangeOptions): Promise<Saved>;
  /** @throws ALREADY_EXISTS: a rule has the new path. */
  move(
    path: string,
    newPath: string,
    caller: Caller,
    options?: ChangeOptions & { readonly expectedEtag?: string | undefined },
  ): Promise<Saved>;
  delete(paths: readonly string[], caller: Caller, options?: ChangeOptions): Promise<Saved>;
  /** Plan of a sync of a site. @param signal ends the call. */
  compare(site: string, signal?: AbortSignal): Promise<readonly RecordResult[]>;
  /** @param signal ends the call. What was requested of the site until then is carried out. */
  sync(
    site: string,
    paths: readonly string[],
    origin: AuditOrigin,
    signal?: AbortSignal,
  ): Promise<readonly RuleStatus[]>;
  adopt(
    site: string,
    paths: readonly string[],
    caller: Caller,
    options?: ChangeOptions,
  ): Promise<Saved>;
  /** Name of the file that declares a rule; undefined: none. */
  declaredBy(path: string): string | undefined;
  /** Streams all rules, then each one that changes with its statuses. @throws UNAVAILABLE at the end. */
  watch<M>(view: View<WatchedRules, M>, signal: AbortSignal): AsyncIterable<M>;
  /** Wakes streams after a commit. */
  changed(): void;
}
