import { NO_VALUES, type RuleValues, type WantedRule } from "../../../src/rules/rule.ts";
import { createRuleClient, type RuleClient } from "../../../src/rules/site/client.ts";
import { type RuleRound, runRuleRound } from "../../../src/rules/site/round.ts";
import { createRuleRegistry, type RuleState } from "../../../src/rules/site/state.ts";
import { createSiteClient } from "../../../src/sync/client.ts";
import type { RecordStateStore } from "../../../src/sync/record-state-store.ts";
import { memoryStore } from "../../mounts/site/desk.ts";
import type { StandIn } from "../../sites/stand-in.ts";

/** Desired rule with these values. */
export function wanted(
  path: string,
  values: Partial<RuleValues> = {},
  more: Partial<WantedRule> = {},
): WantedRule {
  return {
    name: path,
    path,
    values: { ...NO_VALUES, ...values },
    isIncomplete: false,
    blindRevision: 0,
    revision: 1,
    ...more,
  };
}

export interface DeskOptions {
  readonly store?: RecordStateStore;
  readonly now?: () => number;
  /** Wraps the calls, for failures in between. */
  readonly wrap?: (client: RuleClient) => RuleClient;
  readonly mayWrite?: () => boolean;
  /** Whether the site follows. Default: it does. */
  readonly follows?: () => boolean;
  readonly lacksUsers?: boolean;
}

/** One process of Mooring with one site. */
export interface Desk {
  wanted: WantedRule[];
  round(options?: { aim?: "read" | "push"; forced?: readonly string[] }): Promise<RuleRound>;
  state(name: string): RuleState | undefined;
  close(): void;
}

export async function openDesk(site: StandIn, options: DeskOptions = {}): Promise<Desk> {
  const registry = createRuleRegistry(options.store ?? memoryStore(), 0);
  await registry.load();
  const raw = createSiteClient({ url: site.url, token: site.token(), ca: "", pin: "" }, 2);
  const plain = createRuleClient(raw);
  const client = options.wrap?.(plain) ?? plain;
  const desk: Desk = {
    wanted: [],
    round: ({ aim = "push", forced = [] } = {}) =>
      runRuleRound(
        { siteId: "s", aim, forced },
        {
          client,
          registry,
          now: options.now ?? Date.now,
          wanted: () => desk.wanted,
          lacksUsers: () => options.lacksUsers ?? false,
          rateLimit: async () => undefined,
          mayWrite: options.mayWrite ?? (() => true),
          follows: options.follows ?? (() => true),
        },
      ),
    state: (name) => registry.records("s").get(name),
    close: () => raw.close(),
  };
  return desk;
}

/** Calls that change something, such as `create`, in order. */
export function writes(site: StandIn): string[] {
  return site.rules.calls.map(({ call }) => call);
}
