import { type Members, readMembers, timeMember } from "../../archive/member.ts";
import {
  type ArchiveEntry,
  authorOf,
  chosenOf,
  type EntryResult,
  entryResult,
  type ImportContext,
  keepsSecrets,
  type StorePart,
} from "../../archive/part.ts";
import { doneEntry } from "../../audit/entry.ts";
import { mapWriteError } from "../../database/error.ts";
import { ServiceError } from "../../messages/error.ts";
import { message, type Text } from "../../messages/message.ts";
import { ownValue } from "../../own-value.ts";
import type { SiteNames } from "../../sites/site-names.ts";
import type { IncidentClass } from "../incident.ts";
import type { WebhookFormat } from "./format/formats.ts";
import {
  changedMembers,
  isSecret,
  NO_OPTIONS,
  newWebhook,
  SECRETS,
  type Webhook,
  type WebhookInput,
  withWebhookInput,
} from "./input.ts";
import type { WebhookRegistry } from "./registry.ts";
import { MAX_WEBHOOKS } from "./service.ts";

export interface WebhookPartDeps {
  readonly registry: Pick<WebhookRegistry, "load" | "all" | "add" | "update">;
  /** Names of the sites; during an import with those that it creates. */
  readonly siteNames: (context?: ImportContext) => SiteNames;
  /** File that declares a webhook; undefined: clients may change it. */
  readonly managedBy: (name: string) => string | undefined;
  readonly now: () => number;
  readonly newId: () => string;
}

/**
 * Webhooks in archives. The address is a secret, because addresses of chat services contain their key;
 * its origin is open. A webhook without its address is created disabled.
 */
export function createWebhookPart(deps: WebhookPartDeps): StorePart {
  const { registry } = deps;
  return {
    kind: "store",
    name: "webhooks",
    exportScope: "webhooks:manage",
    importScopes: ["webhooks:manage"],
    most: MAX_WEBHOOKS,
    export: async ({ grant, names, withSecrets }) => {
      await mapWriteError(registry.load());
      const { nameOf } = deps.siteNames();
      // As for tokens of sites: only the permanent token reads addresses and keys.
      const isShown = withSecrets && grant.isRoot;
      return {
        entries: chosenOf(registry.all(), names)
          .toSorted((a, b) => (a.name < b.name ? -1 : 1))
          .map((webhook) => toEntry(webhook, nameOf, isShown)),
      };
    },
    write: async ({ entries = [] }, context) => {
      await mapWriteError(registry.load());
      const results: EntryResult[] = [];
      let added = 0;
      for (const entry of entries) {
        context.signal?.throwIfAborted();
        const plan = planWebhook(entry, context, context.dryRun ? added : 0);
        const { before, webhook } = plan;
        if (webhook !== undefined && before === undefined) added += 1;
        results.push(
          webhook === undefined || context.dryRun
            ? plan.result
            : await store(entry, context, plan.result),
        );
      }
      return results;
    },
  };

  async function store(
    entry: ArchiveEntry,
    context: ImportContext,
    planned: EntryResult,
  ): Promise<EntryResult> {
    const { origin } = context.caller;
    for (;;) {
      const { result, before, webhook } = planWebhook(entry, context, 0);
      if (webhook === undefined || result.outcome === "unchanged") return result;
      const changed = before === undefined ? ["name", "url", "secret"] : result.differs;
      const audit = [doneEntry(origin, deps.now(), [webhook.name], { changed: [...changed] })];
      const how = before === undefined ? "add" : "update";
      const done = await mapWriteError(registry[how](webhook, audit));
      if (done === "stored") {
        context.onStored?.(webhook.name);
        return result;
      }
      await mapWriteError(registry.load());
      // Another call has just added it: it is changed.
      if (done === "taken" && registry.all().every(({ name }) => name !== entry.name))
        return entryResult(entry.name, "skipped", {
          note: message("WEBHOOK_EXISTS", { name: entry.name }),
        });
      // Another call has changed or deleted it meanwhile.
      if (planned.outcome === "skipped") return planned;
    }
  }

  /** @param added number of webhooks that the import adds besides. */
  function planWebhook(
    entry: ArchiveEntry,
    context: ImportContext,
    added: number,
  ): {
    readonly result: EntryResult;
    /** Webhook after the import; undefined: it is not imported. */
    readonly webhook?: Webhook;
    /** Undefined: it is new. */
    readonly before?: Webhook | undefined;
  } {
    const skip = (note: Text) => ({ result: entryResult(entry.name, "skipped", { note }) });
    const all = registry.all();
    const before = all.find(({ name }) => name === entry.name);
    if (before === undefined && all.length + added >= MAX_WEBHOOKS)
      return skip(message("TOO_MANY_WEBHOOKS", { most: MAX_WEBHOOKS }));
    const names = deps.siteNames(context);
    const members = readMembers(entry.content);
    const options = optionsOf(members, entry);
    const asked = members.texts("sites").map((name) => context.choices.siteNames.get(name) ?? name);
    const unknown = asked.filter((name) => names.idOf(name) === undefined);
    const [first] = unknown;
    // Without sites it would be notified of all.
    if (first !== undefined && unknown.length === asked.length)
      return skip(names.problemOf(first) ?? "");
    const url = ownValue(entry.secrets, "url");
    const secret = ownValue(entry.secrets, "secret");
    const target = members.text("target");
    const isAddressless = before === undefined && url === undefined;
    const given: WebhookInput = {
      name: entry.name,
      ...options,
      classes: members.texts("classes") as readonly IncidentClass[],
      withoutUnknown: members.flag("withoutUnknown"),
      language: members.text("language") || "en",
      disabled: members.flag("disabled") || isAddressless,
      sites: asked.filter((name) => names.idOf(name) !== undefined),
      ...(url !== undefined && { url: String(url) }),
      ...(isAddressless && { url: target }),
      ...(secret !== undefined && { secret: String(secret) }),
    };
    // As in exports: only the permanent token reads addresses and keys.
    const { isRoot: reveals } = context.caller.grant;
    const { input, kept } =
      before !== undefined && keepsSecrets(context.choices)
        ? withStoredSecrets(before, given, reveals)
        : { input: given, kept: [] };
    const createdAt = members.time("created") ?? deps.now();
    const createdBy = authorOf(members, "createdBy", context.caller);
    const problem = members.problem();
    if (problem !== undefined) return skip(problem);
    try {
      const webhook = withWebhookInput(
        before ?? newWebhook(deps.newId(), createdAt, createdBy),
        input,
        names,
      );
      const differs =
        before === undefined
          ? []
          : changedMembers(before, webhook, { input, reveals }).map((name) =>
              name === "siteIds" ? "sites" : name,
            );
      const isOwn = context.choices.declared?.file !== undefined;
      const file = isOwn ? undefined : deps.managedBy(entry.name);
      if (file !== undefined && differs.length > 0)
        return skip(message("MANAGED_BY_FILE", { file }));
      const outcome =
        before === undefined ? "created" : differs.length > 0 ? "changed" : "unchanged";
      const missing = before === undefined ? entry.missing : [];
      const result = entryResult(entry.name, outcome, {
        differs,
        missing,
        leftOut: unknown.map((name) => `sites.${name}`),
        kept,
        replacedSecrets:
          before === undefined
            ? []
            : differs.filter((name) => isSecret(name) && hasSecret(before, name)),
        isGuess: before !== undefined && !reveals && (url !== undefined || secret !== undefined),
        note: isAddressless
          ? message("WEBHOOK_WITHOUT_ADDRESS")
          : first === undefined
            ? ""
            : (names.problemOf(first) ?? ""),
      });
      return { result, webhook, before };
    } catch (error) {
      if (error instanceof ServiceError) return skip(error.text);
      throw error;
    }
  }
}

/**
 * Input that keeps the address of a webhook and its secrets together: a key must not be sent to another
 * address.
 *
 * @param reveals whether the caller may learn if a secret differs; otherwise each counts as kept.
 * @returns the names of the members that would have been replaced.
 */
function withStoredSecrets(
  before: Webhook,
  input: WebhookInput,
  reveals: boolean,
): { readonly input: WebhookInput; readonly kept: readonly string[] } {
  const isOther = (name: (typeof SECRETS)[number]): boolean =>
    input[name] !== undefined &&
    (!reveals || JSON.stringify(input[name]) !== JSON.stringify(before[name]));
  const kept = isIncomplete(before)
    ? []
    : SECRETS.filter((name) => isOther(name) && hasSecret(before, name));
  if (kept.length === 0) return { input, kept };
  const { url, secret, token, headers, format, chat, ...others } = input;
  return { input: others, kept };
}

/** Reports whether a webhook was imported without its address: it has the origin of it alone. */
function isIncomplete({ disabled, url, token, headers }: Webhook): boolean {
  const isOrigin = url.replace(/\/$/, "") === URL.parse(url)?.origin;
  return disabled && isOrigin && token === "" && Object.keys(headers).length === 0;
}

function hasSecret(webhook: Webhook, name: (typeof SECRETS)[number]): boolean {
  return name === "headers" ? Object.keys(webhook.headers).length > 0 : webhook[name] !== "";
}

/** Prefix of the names of secrets that are values of headers. */
const HEADER = "header:";

/** Format of an entry with its options. Absent secrets of an existing webhook stay unchanged. */
function optionsOf(members: Members, { secrets }: ArchiveEntry): WebhookInput {
  const token = ownValue(secrets, "token");
  const headers = Object.entries(secrets).filter(([name]) => name.startsWith(HEADER));
  return {
    format: (members.text("format") || "standard") as WebhookFormat,
    chat: members.text("chat"),
    template: members.text("template"),
    contentType: members.text("contentType") || NO_OPTIONS.contentType,
    method: members.text("method") || NO_OPTIONS.method,
    ...(token !== undefined && { token: String(token) }),
    ...(headers.length > 0 && {
      headers: Object.fromEntries(
        headers.map(([name, value]) => [name.slice(HEADER.length), String(value)]),
      ),
    }),
  };
}

function toEntry(webhook: Webhook, nameOf: SiteNames["nameOf"], isShown: boolean): ArchiveEntry {
  const { name, url, secret, classes, withoutUnknown, siteIds, language, disabled } = webhook;
  const { createdAt, createdBy, format, token, chat, template, contentType, method } = webhook;
  const secrets = {
    url,
    secret,
    ...(token !== "" && { token }),
    ...Object.fromEntries(
      Object.entries(webhook.headers).map(([header, value]) => [`${HEADER}${header}`, value]),
    ),
  };
  return {
    name,
    content: {
      format,
      target: new URL(url).origin,
      ...(chat !== "" && { chat }),
      ...(template !== "" && { template, contentType, method }),
      classes,
      withoutUnknown,
      sites: siteIds.map((id) => nameOf(id) || id),
      language,
      disabled,
      created: timeMember(createdAt),
      createdBy,
    },
    secrets: isShown ? secrets : {},
    missing: isShown ? [] : Object.keys(secrets),
    isSealed: false,
  };
}
