import { type Message, message, type Text } from "../../messages/message.ts";
import { checkLines, type Format, quoted, unixLines } from "./format.ts";

/** Format of texts that match a pattern. Empty text is valid. */
function textFormat(form: RegExp, problem: Message): Format {
  return {
    check: (value) => (value === "" || form.test(value) ? undefined : problem),
    normalize: (value) => value.trim(),
    quotes: false,
  };
}

/**
 * A colour in CSS. The value is written into a script of every page, so quotes and brackets that
 * could end a string there are invalid, even where CSS permits them.
 */
export const color: Format = textFormat(
  /^(?:#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})|[a-z]{1,40}|[a-z-]{1,40}\([\w\s.,%/#+()-]{1,200}\))$/i,
  message("COLOR_INVALID"),
);

/** Name of a character set as registered with IANA (RFC 2978, section 2.3). */
export const charset: Format = textFormat(
  /^[a-z0-9][a-z0-9!#$%&'+^_`{}~.:()-]{0,63}$/i,
  message("CHARSET_INVALID"),
);

/** An IP address or a host name, international ones included. */
export const host: Format = textFormat(
  /^[\p{L}\p{N}][\p{L}\p{N}\p{M}._-]{0,252}$|^[0-9a-f:.]{2,45}$/iu,
  message("HOST_INVALID"),
);

/** Address of an LDAP server. */
export const ldapServer: Format = textFormat(
  /^(?:ldaps?:\/\/)?(?:\[[0-9a-f:.]{2,45}\]|[^\s:/?#@[\]]{1,253})(?::\d{1,5})?$/i,
  message("LDAP_SERVER_INVALID"),
);

/** LDAP filter (RFC 4515) with a placeholder for the user name. */
export const ldapFilter: Format = textFormat(
  /^\(.*%(?:\[1\])?s.*\)$/s,
  message("LDAP_FILTER_INVALID"),
);

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
    : message("LINK_INVALID", { scheme, advice: message("ESCAPE_ADVICE") });
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

/** Maximum number of items of a list. */
const MAX_ITEMS = 1_000;
/** Maximum length of an item, in UTF-16 units. */
const MAX_ITEM = 255;

/**
 * Items separated by commas; empty text is the empty list. Readers of a list compare items
 * including spaces, so spaces around items are removed. Empty items are invalid because they would
 * match files without an extension.
 */
export const list: Format = {
  check: checkList,
  normalize: (value) =>
    value
      .split(",")
      .map((item) => item.trim())
      .join(","),
  quotes: true,
};

function checkList(value: string): Text | undefined {
  if (value === "") return undefined;
  const items = value.split(",");
  if (items.length > MAX_ITEMS)
    return message("TOO_MANY_ITEMS", { count: items.length, most: MAX_ITEMS });
  for (const [at, item] of items.entries()) {
    const problem = checkItem(item);
    if (problem !== undefined) return message("LIST_ITEM_PROBLEM", { item: at + 1, problem });
  }
  return undefined;
}

function checkItem(item: string): Text | undefined {
  if (item === "") return message("LIST_ITEM_EMPTY");
  if (item.trim() !== item) return message("ITEM_WHITE_SPACE", { value: quoted(item) });
  if (item.length > MAX_ITEM)
    return message("LINE_TOO_LONG", { count: item.length, most: MAX_ITEM });
  if (/\p{Cc}/u.test(item)) return message("ITEM_LINE_BREAK", { value: quoted(item) });
  return undefined;
}

/**
 * Paths of the site, one per line. Readers compare the beginning of a path with each line, so an
 * empty line would match every path: normalization removes empty lines and white space around
 * paths.
 */
export const pathLines: Format = {
  check: (value) => (value === "" ? undefined : checkLines(value, checkPath)),
  normalize: (value) =>
    unixLines(value)
      .split("\n")
      .map((line) => line.trim())
      .filter((line) => line !== "")
      .join("\n"),
  quotes: true,
};

function checkPath(line: string): Text | undefined {
  if (line === "") return message("PATH_EMPTY");
  return line.startsWith("/") ? undefined : message("PATH_WITHOUT_SLASH", { value: quoted(line) });
}

/** Maximum number of entries of a map. */
const MAX_ENTRIES = 1_000;
/** The highest port number of TCP. */
const MAX_PORT = 65_535;
/** Lowest port of a range: lower ports belong to system services (RFC 6335, section 6). */
const MIN_RANGE_PORT = 1_024;

const WHAT =
  "a port, a range such as 2122-2130, or exposed:listened such as 3122-3130:2122-2130, separated by commas or line breaks";

/**
 * Ports for passive FTP. Empty text: the system chooses. One invalid entry would invalidate the
 * others.
 */
export const portMap: Format = {
  check: checkPortMap,
  normalize: (value) => unixLines(value).trim(),
  quotes: true,
};

function checkPortMap(value: string): Text | undefined {
  if (value === "") return undefined;
  const entries = value.split(/[,\n]/);
  if (entries.length > MAX_ENTRIES)
    return message("TOO_MANY_PORTS", { count: entries.length, most: MAX_ENTRIES });
  for (const [at, entry] of entries.entries()) {
    const problem = checkEntry(entry);
    if (problem !== undefined)
      return message("PORT_ENTRY_PROBLEM", { entry: at + 1, value: quoted(entry), problem });
  }
  return undefined;
}

function checkEntry(entry: string): Text | undefined {
  const sides = entry.split(":");
  const counts = sides.map(portCount);
  if (sides.length > 2 || counts.includes(undefined))
    return message("PORT_ENTRY_INVALID", { form: WHAT });
  return counts[1] !== undefined && counts[0] !== counts[1]
    ? message("PORT_COUNTS_DIFFER", { one: counts[0] ?? 0, other: counts[1] })
    : undefined;
}

/** @returns the number of ports of a range or single port; undefined for other text. */
function portCount(text: string): number | undefined {
  const match = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text);
  if (match === null) return undefined;
  const first = Number(match[1]);
  if (match[2] === undefined) return first >= 1 && first <= MAX_PORT ? 1 : undefined;
  const last = Number(match[2]);
  return first >= MIN_RANGE_PORT && first <= last && last <= MAX_PORT
    ? last - first + 1
    : undefined;
}
