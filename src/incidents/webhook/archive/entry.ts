import { type Members, timeMember } from "../../../archive/member.ts";
import type { ArchiveEntry } from "../../../archive/part.ts";
import { ownValue } from "../../../own-value.ts";
import type { SiteNames } from "../../../sites/site-names.ts";
import type { IncidentClass } from "../../incident.ts";
import type { WebhookFormat } from "../format/formats.ts";
import { NO_OPTIONS, type Webhook, type WebhookInput } from "../input.ts";

/** Prefix of the names of secrets that are values of headers. */
const HEADER = "header:";

/** @param isShown - whether values of secrets are written; otherwise they are only named. */
export function toEntry(
  webhook: Webhook,
  nameOf: SiteNames["nameOf"],
  isShown: boolean,
): ArchiveEntry {
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

/**
 * Members of an entry. Absent secrets of an existing webhook stay unchanged.
 *
 * @param options.sites - names of its sites that exist here.
 * @param options.isAddressless - whether it is new and has no address: it is created disabled.
 */
export function fromEntry(
  members: Members,
  entry: ArchiveEntry,
  { sites, isAddressless }: { readonly sites: readonly string[]; readonly isAddressless: boolean },
): WebhookInput {
  const url = ownValue(entry.secrets, "url");
  const secret = ownValue(entry.secrets, "secret");
  const target = members.text("target");
  return {
    name: entry.name,
    ...optionsOf(members, entry),
    classes: members.texts("classes") as readonly IncidentClass[],
    withoutUnknown: members.flag("withoutUnknown"),
    language: members.text("language") || "en",
    disabled: members.flag("disabled") || isAddressless,
    sites,
    ...(url !== undefined && { url: String(url) }),
    ...(isAddressless && { url: target }),
    ...(secret !== undefined && { secret: String(secret) }),
  };
}

/** Format of an entry with its options. */
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
