import { message, type Text } from "../../messages/message.ts";
import { checkLines, type Format, unixLines } from "./format.ts";

const PLEASE_ESCAPE = "in a user name or password write @ : / ? # as %40 %3A %2F %3F %23";

/** An http or https address (RFC 3986). Empty text: none. Its messages never quote it. */
export const url: Format = urlFormat("http", "https");

/** Like {@link url}, also over WebSocket. */
export const rpcUrl: Format = urlFormat("http", "https", "ws", "wss");

/**
 * Address of a picture on a page: an http or https address, a relative address, or a `data:` URL.
 * Empty text: no picture.
 */
export const link: Format = {
  check: checkLink,
  normalize: (value) => value.trim(),
  quotes: false,
};

/** One {@link link} per line: the second is for the dark theme. */
export const linkLines: Format = {
  check: (value) => (value === "" ? undefined : checkLines(value, checkLink)),
  normalize: (value) => unixLines(value).trim(),
  quotes: false,
};

function urlFormat(...schemes: readonly string[]): Format {
  return {
    check: (value) => (value === "" ? undefined : checkUrl(value, schemes)),
    normalize: (value) => value.trim(),
    quotes: false,
  };
}

function checkUrl(value: string, schemes: readonly string[]): Text | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(value)?.[1]?.toLowerCase();
  if (scheme === undefined || !schemes.includes(scheme))
    return message("SCHEME_INVALID", {
      schemes: alternatives(schemes.map((name) => `${name}://`)),
    });
  if (/[\s\p{Cc}]/u.test(value)) return message("ADDRESS_WITH_SPACE");
  return URL.canParse(value)
    ? undefined
    : message("LINK_INVALID", { scheme, advice: PLEASE_ESCAPE });
}

function checkLink(value: string): Text | undefined {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(value)?.[1]?.toLowerCase();
  if (scheme === "data") return undefined;
  if (scheme !== undefined) return checkUrl(value, ["http", "https"]);
  return /[\s\p{Cc}]/u.test(value) ? message("IMAGE_LINK_INVALID") : undefined;
}

function alternatives(names: readonly string[]): string {
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}
