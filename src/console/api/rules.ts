import { createClient } from "@connectrpc/connect";
import { signal } from "@preact/signals";
import type { Rule } from "../../../gen/mooring/v1/rule_pb.js";
import { RuleService } from "../../../gen/mooring/v1/rule_service_pb.js";
import type { StreamOptions } from "../../client/follow.ts";
import { transport } from "./client.ts";
import type { Failure } from "./failure.ts";
import { followCalls } from "./follow.ts";
import { session } from "./session.ts";

export const ruleService = createClient(RuleService, transport);

/** Folder rules by path, as last received; undefined: not received yet. */
export const rules = signal<ReadonlyMap<string, Rule> | undefined>(undefined);
export const rulesFailure = signal<Failure | undefined>(undefined);

session.subscribe((now) => {
  if (now === undefined) rules.value = undefined;
});

/** Follows folder rules until the signal is aborted, while a page shows them. */
export async function followRules(signal: AbortSignal): Promise<void> {
  const maps = followCalls({ open: readRules, failure: rulesFailure, signal });
  for await (const known of maps)
    rules.value = new Map([...known].sort(([one], [other]) => one.localeCompare(other)));
}

/** All rules by path after each event; a stream begins with all of them. */
async function* readRules(_: undefined, options: StreamOptions) {
  const known = new Map<string, Rule>();
  for await (const { rules: changed, removed } of ruleService.watchRules({}, options)) {
    for (const path of removed) known.delete(path);
    for (const rule of changed) known.set(rule.path, rule);
    yield known;
  }
}
