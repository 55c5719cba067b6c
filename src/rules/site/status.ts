import { message, type Text } from "../../messages/message.ts";
import type { Site, SiteState } from "../../sites/site.ts";
import { pathOn } from "../../sites/site-choice.ts";
import { pausedSite } from "../../sites/site-state.ts";
import { isLasting } from "../../sync/failure.ts";
import type { State, StateName, Trouble } from "../../sync/state.ts";
import { isIncompleteOn, type Rule } from "../rule.ts";
import type { RuleStatus } from "../rule-status.ts";
import { type Hindrance, NEW_RULE, type RuleRegistry } from "./state.ts";

/** Sources of the status of rules. */
export interface RuleStatusSources {
  readonly registry: Pick<RuleRegistry, "site" | "records">;
  /** State of a site's settings. */
  readonly siteState: (siteId: string) => Pick<SiteState, "error">;
}

/** State and remedy of a rule that is not written to a site. */
const HINDERED: Readonly<
  Record<
    Exclude<Hindrance, "">,
    { readonly state: StateName; readonly remedy: (names: Names) => Text }
  >
> = {
  call: { state: "failing", remedy: (names) => message("DO_SYNC_RULE", names) },
  users: { state: "failing", remedy: (names) => message("DO_CREATE_USERS", names) },
  unsupported: { state: "stuck", remedy: (names) => message("DO_OVERRIDE_USERS", names) },
  incomplete: { state: "stuck", remedy: ({ name }) => message("DO_GIVE_PASSWORD", { name }) },
  unmanaged: { state: "differs", remedy: (names) => message("DO_SYNC_OR_ADOPT_RULE", names) },
  taken: { state: "stuck", remedy: (names) => message("DO_SYNC_RULE", names) },
  flapping: { state: "stuck", remedy: (names) => message("DO_SYNC_OR_ADOPT_RULE", names) },
};

interface Names {
  readonly site: string;
  readonly name: string;
}

/** Status of a rule on a site, from all that is known about it. This is the only place that decides it. */
export function ruleStatus(rule: Rule, site: Site, sources: RuleStatusSources): RuleStatus {
  const { registry } = sources;
  const state = registry.records(site.id).get(rule.path) ?? NEW_RULE;
  const path = (!state.absent && state.path) || pathOn(rule, site.id);
  const agrees =
    !state.absent &&
    !state.creating &&
    state.applied === rule.revision &&
    state.differs.length === 0;
  const { contacted, readAt } = registry.site(site.id);
  const isPushing = site.mode === "follow" && !site.paused && contacted;
  const { applied, differs } = state;
  return {
    ...decide(),
    site: site.name,
    path,
    agrees,
    applied,
    differs,
    readAt,
  };

  function decide(): State {
    const names = { site: site.name, name: rule.path };
    if (isIncompleteOn(rule, site.id))
      return {
        state: "stuck",
        cause: message("RULE_INCOMPLETE"),
        remedy: message("DO_GIVE_PASSWORD", { name: rule.path }),
        since: 0,
      };
    if (site.paused) return { state: "waiting", ...pausedSite(site) };
    const unread = unreadSite(site, sources);
    if (unread !== undefined) {
      const { kind, ...trouble } = unread;
      return { state: isLasting({ kind }) ? "stuck" : "failing", ...trouble };
    }
    if (state.hindrance !== "") {
      const { state: name, remedy } = HINDERED[state.hindrance];
      return { state: name, cause: state.error, remedy: remedy(names), since: state.errorSince };
    }
    if (agrees) return { state: "ok", cause: "", remedy: "", since: 0 };
    const cause = state.absent ? message("RULE_NOT_THERE", { path }) : "";
    if (isPushing) return { state: "waiting", cause, remedy: "", since: 0 };
    return { state: "differs", cause, remedy: message("DO_SYNC_OR_ADOPT_RULE", names), since: 0 };
  }
}

/** The reason for which a site's rules or settings can't be read; undefined: none. */
export function unreadSite(
  site: Pick<Site, "id" | "name">,
  { registry, siteState }: RuleStatusSources,
): (Trouble & { readonly kind: string }) | undefined {
  const rules = registry.site(site.id);
  const error = siteState(site.id).error ?? {
    kind: rules.errorKind,
    message: rules.error,
    since: rules.errorSince,
  };
  if (error.message === "") return undefined;
  const { kind, message: cause, since } = error;
  return { cause, remedy: message("DO_CHECK_SITE", { site: site.name }), since, kind };
}
