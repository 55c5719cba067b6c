import type { Grant } from "../access/grant.ts";
import { message } from "../messages/message.ts";
import type { KindResult } from "./record-effect.ts";
import type { SiteView } from "./site.ts";
import { MOUNT_ACTION, RULE_ACTION, USER_ACTION } from "./store.ts";

/**
 * Site without the marks of its secrets. With them, a caller who may not read secrets could save
 * guesses and see which one the site has.
 */
export function withoutSecrets(view: SiteView, isSecret: (key: string) => boolean): SiteView {
  const { state } = view;
  const open = <T>(marks: Readonly<Record<string, T>>): Readonly<Record<string, T>> =>
    Object.fromEntries(Object.entries(marks).filter(([key]) => !isSecret(key)));
  return {
    ...view,
    state: {
      ...state,
      drift: state.drift.filter((key) => !isSecret(key)),
      refused: open(state.refused),
      held: open(state.held),
      rewritten: open(state.rewritten),
      corrections: open(state.corrections),
    },
  };
}

/** The result for a record, without its name if the caller may not read records of its kind. */
export function readableResult(result: KindResult, grant: Grant): KindResult {
  const scope = `${result.kind}s:read`;
  if (grant.has(scope)) return result;
  return { ...result, name: "", note: message("SCOPE_MISSING", { scope }) };
}

/** Scopes of entries in the log of a site that name records, by action. */
const SCOPES: Readonly<Record<string, string>> = {
  [MOUNT_ACTION]: "mounts:read",
  [RULE_ACTION]: "rules:read",
  [USER_ACTION]: "users:read",
};

/** Actions in the log of a site that a caller may not read. */
export function hiddenActions(grant: Grant): readonly string[] {
  return Object.entries(SCOPES).flatMap(([action, scope]) => (grant.has(scope) ? [] : [action]));
}
