import type { AuditOrigin } from "../audit/entry.ts";
import type { Effect } from "../history/effect.ts";
import type { RecordResult } from "../history/record-result.ts";
import { failedPrecondition } from "../messages/error.ts";
import { message } from "../messages/message.ts";
import type { Caller, ChangeOptions, Saved } from "../records/caller.ts";
import type { RecordChange } from "../records/effect.ts";
import type { Site } from "../sites/site.ts";
import type { Rule } from "./rule.ts";
import type { RuleStatus } from "./rule-status.ts";

/** Rules on the servers of sites. Failed calls are UNAVAILABLE or FAILED_PRECONDITION. */
export interface RulesOnSites {
  /** Effects of a change on servers to which rules are written. */
  effectsOf(change: RecordChange<Rule>): readonly Effect[];
  /** Status of a rule on each of its sites. */
  statuses(rule: Rule): readonly RuleStatus[];
  /** Plan of a sync of a site. */
  compare(site: Site, signal?: AbortSignal): Promise<readonly RecordResult[]>;
  /** @param paths empty: all. */
  sync(
    site: Site,
    paths: readonly string[],
    origin: AuditOrigin,
    signal?: AbortSignal,
  ): Promise<readonly RuleStatus[]>;
  /** @param paths empty: all. */
  adopt(
    site: Site,
    paths: readonly string[],
    caller: Caller,
    options: ChangeOptions,
  ): Promise<Saved>;
  /** Calls the listener when a status may have changed. */
  onChange(listener: () => void): void;
}

function noServers(): never {
  throw failedPrecondition(message("RULES_WITHOUT_SERVERS"));
}

/** For a database without a service, and for tests: no server gets rules. */
export const NO_SERVERS: RulesOnSites = {
  effectsOf: () => [],
  statuses: () => [],
  compare: async () => noServers(),
  sync: async () => noServers(),
  adopt: async () => noServers(),
  onChange: () => undefined,
};
