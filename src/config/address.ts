import { isIP, isIPv4, isIPv6 } from "node:net";
import type { Address } from "../transport/listen.ts";
import { quote } from "./complaint.ts";
import { type Parsed, type Parser, path as parsePath } from "./value.ts";

/** `HOST:PORT`, `[IPV6]:PORT`, `:PORT` (all interfaces) or `unix:PATH`. */
export const address: Parser<Address> = (text, context) => {
  if (text.startsWith("unix:")) {
    return socketAddress(parsePath(text.slice("unix:".length), context));
  }
  const match = /^(?<host>.*):(?<port>\d{1,5})$/s.exec(text);
  if (match?.groups === undefined) {
    return { complaint: missingPort(text) };
  }
  const { host = "", port: digits } = match.groups;
  const port = Number(digits);
  if (port > 65_535) {
    return { complaint: "has a port above 65535" };
  }
  return withHost(host, port);
};

/**
 * Address of another server: `http://HOST:PORT` or `https://HOST`, with an optional path, without
 * query and fragment.
 */
export const serverUrl: Parser<string> = (text) => {
  const url = URL.parse(text);
  if (url === null || !/^https?:\/\//i.test(text))
    return {
      complaint: "is not an address of a server: write it as http://HOST:PORT or https://HOST",
    };
  const odd = oddCharacters(text);
  if (odd !== undefined) return { complaint: odd };
  if (url.username !== "" || url.password !== "")
    return { complaint: "contains a user name or password, which is not allowed here" };
  return url.search === "" && url.hash === ""
    ? { value: text.replace(/\/+$/, "") }
    : { complaint: "has a query or fragment after its path" };
};

/**
 * Complaint about characters of a URL that `URL` accepts, and changes, or that a server cannot
 * decode; undefined: none.
 */
export function oddCharacters(text: string): string | undefined {
  if (/[\p{Cc}\\]/u.test(text)) return "contains a control character or a backslash";
  try {
    decodeURIComponent(text);
    return undefined;
  } catch {
    return "has a % that is not part of an escape of UTF-8: write a % itself as %25";
  }
}

function withHost(host: string, port: number): Parsed<Address> {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : undefined;
  if (bare !== undefined && isIPv6(bare)) {
    return { value: { host: bare, port } };
  }
  if (host === "*") {
    return { complaint: `has a * for the host: write :${port} for all interfaces` };
  }
  if (host.includes(":")) {
    return { complaint: "is not a host and port: write an IPv6 host in brackets, [::1]:5244" };
  }
  return host === "" || isHost(host)
    ? { value: { host, port } }
    : { complaint: "has a host that is neither an IP address nor a name" };
}

/**
 * Reports whether a text is a host name (RFC 1123, section 2.1, and underscores, which container
 * networks use) or an IPv4 address.
 */
function isHost(host: string): boolean {
  // Text of digits and dots must be a valid IPv4 address.
  if (/^[\d.]+$/.test(host)) {
    return isIPv4(host);
  }
  return host.length <= 253 && /^\w([\w-]{0,61}\w)?(\.\w([\w-]{0,61}\w)?)*\.?$/.test(host);
}

function missingPort(text: string): string {
  return /^\d+$/.test(text)
    ? "is not a host and port: write a port alone as :5244"
    : "is not a host and port: write it as 127.0.0.1:5244, [::1]:5244, :5244 or unix:/path";
}

/**
 * Maximum length of a socket path on Linux, in bytes (`sun_path` in unix(7), without its
 * terminator).
 */
const maxSocketPath = 107;

function socketAddress(path: Parsed<string>): Parsed<Address> {
  if ("complaint" in path) {
    return path;
  }
  return Buffer.byteLength(path.value) > maxSocketPath
    ? { complaint: `is longer than the ${maxSocketPath} bytes allowed for the path of a socket` }
    : { value: { path: path.value } };
}

/** Name of the peer of a Unix socket. */
const UNIX = "unix";

/**
 * Trusted proxies, whose headers about the client's address are used: IP addresses, networks, or
 * `unix`.
 */
export const proxyList: Parser<readonly string[]> = (text) => {
  const entries = text.split(",").map((entry) => entry.trim());
  const wrong = entries.find((entry) => entry !== UNIX && !isNetwork(entry));
  return wrong === undefined
    ? { value: entries }
    : {
        complaint: `names ${quote(wrong)}, which is neither an IP address, a network such as 10.0.0.0/8 nor ${UNIX}`,
      };
};

function isNetwork(text: string): boolean {
  const [, address = "", length] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(length ?? 0) <= (family === 4 ? 32 : 128);
}
