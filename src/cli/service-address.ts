import { isIP } from "node:net";
import { address as parseAddress } from "../config/address.ts";
import { quote } from "../config/quote.ts";
import { usage } from "./failure.ts";

/** The service's address unless something else is said: that of a service with no configuration. */
const DEFAULT_ADDRESS = "127.0.0.1:5244";

/** Where a service is. */
export interface ServiceAddress {
  /** A name of gRPC's own form, such as `dns:127.0.0.1:5244` or `unix:/run/mooring.sock`. */
  readonly target: string;
  /** With TLS. */
  readonly secure: boolean;
  /** As somebody has written it, for messages. */
  readonly place: string;
}

/**
 * Reads `HOST:PORT`, `[IPV6]:PORT`, `:PORT` (this machine), `unix:PATH`, `https://HOST[:PORT]` (TLS)
 * or `http://HOST[:PORT]`.
 *
 * @throws CliFailure (usage).
 */
export function readServiceAddress(
  given: { readonly flag: string | undefined; readonly variable: string | undefined },
  cwd: string,
): ServiceAddress {
  const flag = given.flag?.trim();
  const text = flag || given.variable?.trim() || DEFAULT_ADDRESS;
  const source = flag ? "--address" : "MOORING_ADDRESS";
  if (/^https?:\/\//i.test(text)) return readUrl(text, source);
  const at = parseAddress(text, { cwd, parallelism: 1 });
  if ("complaint" in at) throw usage(`${source} ${quote(text)} ${at.complaint}`);
  if ("path" in at.value) return { target: `unix:${at.value.path}`, secure: false, place: text };
  const { host, port } = at.value;
  if (port === 0) throw usage(`${source} ${quote(text)} has port 0, where nothing can be called`);
  // An empty host is all interfaces for who listens; this machine for who calls.
  return { target: targetOf(host || "127.0.0.1", port), secure: false, place: text };
}

function readUrl(text: string, source: string): ServiceAddress {
  const url = URL.parse(text);
  // Anything more, such as a password, is not repeated.
  if (url === null || url.href !== `${url.origin}/`)
    throw usage(
      `${source} is no address of a service: write it as https://HOST or https://HOST:PORT, with nothing after it`,
    );
  const secure = url.protocol === "https:";
  // TLS names the host it wants (RFC 6066, section 3), which can't be an address.
  if (secure && isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0)
    throw usage(
      `${source} has an IP address after https://: write the name that the certificate is for`,
    );
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  return { target: targetOf(url.hostname, port), secure, place: url.origin };
}

function targetOf(host: string, port: number): string {
  if (!host.includes(":")) return `dns:${host}:${port}`;
  return `ipv6:${host.startsWith("[") ? host : `[${host}]`}:${port}`;
}
