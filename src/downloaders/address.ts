import { invalid, type ServiceError } from "../messages/error.ts";
import { type Message, message } from "../messages/message.ts";

/** Parsed address of a download manager, with its credentials apart from the URL. */
export interface Address {
  /**
   * Address to connect to: scheme, host, port, path and query, without user name, password or
   * fragment.
   */
  readonly url: URL;
  /** Percent-decoded; empty when the address has none. */
  readonly user: string;
  /** Percent-decoded; empty when the address has none. */
  readonly password: string;
  /** For messages and logs: scheme, host, port and path, at most 200 characters. */
  readonly shown: string;
}

/** Rules for an address. */
export interface AddressRule {
  /** Name of the request's field, for the violation. */
  readonly field: string;
  /** Accepted schemes with their colon, such as `http:`. */
  readonly schemes: readonly string[];
  /** Valid address, for the message. */
  readonly example: string;
}

const MAX_LENGTH = 2048;
const MAX_SHOWN = 200;

/**
 * Parses an address from a request. INVALID_ARGUMENT names the field and a valid address. The
 * message never quotes the text, which may contain a password.
 */
export function parseAddress(text: string, rule: AddressRule): Address {
  if (text.length > MAX_LENGTH) {
    throw wrongAddress(rule, message("ITEM_TOO_LONG", { most: MAX_LENGTH }));
  }
  const parsed = URL.parse(text);
  if (parsed === null || !rule.schemes.includes(parsed.protocol)) {
    const schemes = rule.schemes.map((scheme) => `${scheme}//`).join(", ");
    throw wrongAddress(rule, message("DOWNLOADER_ADDRESS_SCHEME", { schemes }));
  }
  refuseSplitPassword(parsed, rule);
  const user = decodeUserinfo(parsed.username, rule);
  const password = decodeUserinfo(parsed.password, rule);
  const url = new URL(parsed);
  url.username = "";
  url.password = "";
  url.hash = "";
  return { url, user, password, shown: showAddress(url) };
}

/** Scheme, host, port and path of a URL for messages, truncated to 200 characters. */
export function showAddress(url: URL): string {
  const shown = `${url.protocol}//${url.host}${url.pathname}`;
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}…` : shown;
}

/** INVALID_ARGUMENT about an address, with an example of a valid one. */
function wrongAddress(rule: AddressRule, description: Message): ServiceError {
  const { field, example } = rule;
  return invalid([
    { field, description: message("ADDRESS_PROBLEM", { field, description, example }) },
  ]);
}

// A `/`, `?` or `#` in a password ends the host part early: the rest of the password would count as
// path, be sent and be shown. The `@` after the host reveals it.
function refuseSplitPassword(url: URL, rule: AddressRule): void {
  if (`${url.pathname}${url.search}${url.hash}`.includes("@")) {
    throw wrongAddress(rule, message("DOWNLOADER_ADDRESS_SPLIT"));
  }
}

function decodeUserinfo(text: string, rule: AddressRule): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrongAddress(rule, message("DOWNLOADER_ADDRESS_PERCENT"));
  }
}
