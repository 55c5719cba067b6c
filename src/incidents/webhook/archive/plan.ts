import { readMembers } from "../../../archive/member.ts";
import {
  type ArchiveEntry,
  authorOf,
  type EntryResult,
  entryResult,
  type ImportContext,
  keepsSecrets,
} from "../../../archive/part.ts";
import { ServiceError } from "../../../messages/error.ts";
import { message, type Text } from "../../../messages/message.ts";
import { ownValue } from "../../../own-value.ts";
import type { SiteNames } from "../../../sites/site-names.ts";
import {
  changedMembers,
  newWebhook,
  type Webhook,
  type WebhookInput,
  withWebhookInput,
} from "../input.ts";
import type { WebhookRegistry } from "../registry.ts";
import { MAX_WEBHOOKS } from "../service.ts";
import { fromEntry } from "./entry.ts";
import { replacedSecrets, withStoredSecrets } from "./stored-secret.ts";

export interface WebhookPlanDeps {
  readonly registry: Pick<WebhookRegistry, "all">;
  /** Names of the sites; during an import with those that it creates. */
  readonly siteNames: (context?: ImportContext) => SiteNames;
  /** File that declares a webhook; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  readonly now: () => number;
  readonly newId: () => string;
}

/** Planned change of a webhook by one entry of an archive. */
export interface WebhookPlan {
  readonly result: EntryResult;
  /** Webhook after the import; undefined: it is not imported. */
  readonly webhook?: Webhook;
  /** Undefined: it is new. */
  readonly before?: Webhook | undefined;
}

/** @param added - number of webhooks that the import adds besides. */
export function planWebhook(
  deps: WebhookPlanDeps,
  entry: ArchiveEntry,
  context: ImportContext,
  added: number,
): WebhookPlan {
  const all = deps.registry.all();
  const before = all.find(({ name }) => name === entry.name);
  if (before === undefined && all.length + added >= MAX_WEBHOOKS)
    return skipped(entry, message("TOO_MANY_WEBHOOKS", { most: MAX_WEBHOOKS }));
  const members = readMembers(entry.content);
  const names = deps.siteNames(context);
  const { sites, unknown, problem } = sitesOf(members.texts("sites"), names, context);
  // Without sites it would be notified of all.
  if (unknown.length > 0 && sites.length === 0) return skipped(entry, problem);
  const isAddressless = before === undefined && ownValue(entry.secrets, "url") === undefined;
  const given = fromEntry(members, entry, { sites, isAddressless });
  // As in exports: only the permanent token reads addresses and keys.
  const { isRoot: reveals } = context.caller.grant;
  const { input, kept } =
    before !== undefined && keepsSecrets(context.choices)
      ? withStoredSecrets(before, given, reveals)
      : { input: given, kept: [] };
  const createdAt = members.time("created") ?? deps.now();
  const createdBy = authorOf(members, "createdBy", context.caller);
  const invalid = members.problem();
  if (invalid !== undefined) return skipped(entry, invalid);
  const base = before ?? newWebhook(deps.newId(), createdAt, createdBy);
  const webhook = withInput(base, input, names);
  if ("problem" in webhook) return skipped(entry, webhook.problem);
  const differs = before === undefined ? [] : differingMembers(before, webhook, { input, reveals });
  const isOwn = context.choices.declared?.file !== undefined;
  const file = isOwn ? undefined : deps.managedBy(entry.name);
  if (file !== undefined && differs.length > 0)
    return skipped(entry, message("MANAGED_BY_FILE", { file }));
  const outcome = before === undefined ? "created" : differs.length > 0 ? "changed" : "unchanged";
  const sendsSecret = given.url !== undefined || given.secret !== undefined;
  const result = entryResult(entry.name, outcome, {
    differs,
    missing: before === undefined ? entry.missing : [],
    leftOut: unknown.map((name) => `sites.${name}`),
    kept,
    replacedSecrets: before === undefined ? [] : replacedSecrets(before, differs),
    isGuess: before !== undefined && !reveals && sendsSecret,
    note: isAddressless ? message("WEBHOOK_WITHOUT_ADDRESS") : problem,
  });
  return { result, webhook, before };
}

function skipped({ name }: ArchiveEntry, note: Text): WebhookPlan {
  return { result: entryResult(name, "skipped", { note }) };
}

/** Sites of an entry that exist here, and those that do not, with the problem of the first. */
function sitesOf(
  given: readonly string[],
  names: SiteNames,
  { choices }: ImportContext,
): { readonly sites: string[]; readonly unknown: string[]; readonly problem: Text } {
  const requested = given.map((name) => choices.siteNames.get(name) ?? name);
  const unknown = requested.filter((name) => names.idOf(name) === undefined);
  const sites = requested.filter((name) => names.idOf(name) !== undefined);
  const [first] = unknown;
  return { sites, unknown, problem: first === undefined ? "" : (names.problemOf(first) ?? "") };
}

function withInput(
  webhook: Webhook,
  input: WebhookInput,
  names: SiteNames,
): Webhook | { readonly problem: Text } {
  try {
    return withWebhookInput(webhook, input, names);
  } catch (error) {
    if (error instanceof ServiceError) return { problem: error.text };
    throw error;
  }
}

/** Changed members by their names in archives. */
function differingMembers(
  before: Webhook,
  webhook: Webhook,
  options: Parameters<typeof changedMembers>[2],
): string[] {
  const changed = changedMembers(before, webhook, options);
  return changed.map((name) => (name === "siteIds" ? "sites" : name));
}
