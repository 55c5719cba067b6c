// Stored secrets of an existing webhook during an import: which stay, and which are replaced.
import { isSecret, SECRETS, type Webhook, type WebhookInput } from "../input.ts";

/**
 * Input that keeps the address of a webhook and its secrets together: a key must not be sent to another
 * address.
 *
 * @param reveals whether the caller may learn if a secret differs; otherwise each counts as kept.
 * @returns the names of the members that would have been replaced.
 */
export function withStoredSecrets(
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

/** Reports whether a webhook has a value for a secret member. */
function hasSecret(webhook: Webhook, name: (typeof SECRETS)[number]): boolean {
  return name === "headers" ? Object.keys(webhook.headers).length > 0 : webhook[name] !== "";
}

/** Names of the secrets of a webhook that a change of these members replaces. */
export function replacedSecrets(before: Webhook, differs: readonly string[]): readonly string[] {
  return differs.filter((name) => isSecret(name) && hasSecret(before, name));
}
