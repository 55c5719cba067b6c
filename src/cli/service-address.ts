import { isIP } from "node:net";
import { address as parseAddress } from "../config/address.ts";
import { quote } from "../config/complaint.ts";
import { formatAddress } from "../transport/listen.ts";
import { usage } from "./failure.ts";
import type { World } from "./world.ts";

/** Default address: that of a service without configuration. */
const DEFAULT_ADDRESS = "127.0.0.1:5244";

/** Variables of the service for its gRPC address, in order of precedence. */
const LISTEN_VARIABLES = ["MOORING_GRPC_LISTEN", "MOORING_LISTEN"] as const;

/** Address of a service. */
export interface ServiceAddress {
  /** Scheme, host and port; for a socket, those of this machine. */
  readonly url: string;
  /** Path of a Unix socket. */
  readonly socket?: string;
  /** The address as given, for messages. */
  readonly place: string;
  /** Whether the host name of its certificate is unknown, so that it cannot be verified. */
  readonly isUnnamed?: boolean;
}

/** Context for reading an address. */
export interface AddressContext {
  readonly world: Pick<World, "env" | "cwd">;
  /** Whether the command sends no secret. */
  readonly anonymous: boolean;
}

/**
 * Reads the address of the service: the flag `--address`, else MOORING_ADDRESS, else the service's
 * own listening variables, else the default. Notations of the first two: `HOST:PORT`,
 * `[IPV6]:PORT`, `:PORT` (this machine), `unix:PATH`, `https://HOST[:PORT]` (TLS) or
 * `http://HOST[:PORT]`.
 *
 * @throws CliFailure (usage).
 */
export function readServiceAddress(
  flag: string | undefined,
  context: AddressContext,
): ServiceAddress {
  const { world } = context;
  const given = flag?.trim();
  if (given) return readAddress(given, "--address", context);
  const { MOORING_ADDRESS } = world.env;
  const address = MOORING_ADDRESS?.trim();
  if (address) return readAddress(address, "MOORING_ADDRESS", context);
  const variable = LISTEN_VARIABLES.find((name) => world.env[name]?.trim());
  const text = variable === undefined ? DEFAULT_ADDRESS : (world.env[variable]?.trim() ?? "");
  return withTls(readAddress(text, variable ?? "MOORING_ADDRESS", context), context);
}

function readAddress(text: string, source: string, { world }: AddressContext): ServiceAddress {
  if (/^https?:\/\//i.test(text)) return readUrl(text, source);
  const at = parseAddress(text, { cwd: world.cwd, parallelism: 1 });
  if ("complaint" in at) throw usage(`${source} ${quote(text)} ${at.complaint}`);
  if ("path" in at.value) return { url: "http://localhost", socket: at.value.path, place: text };
  const { host, port } = at.value;
  if (port === 0) throw usage(`${source} ${quote(text)} has port 0, which cannot be called`);
  return { url: `http://${formatAddress({ host: hostToCall(host), port })}`, place: text };
}

/** Converts a listening host to one to call: a wildcard address becomes this machine. */
function hostToCall(host: string): string {
  if (host === "" || host === "0.0.0.0") return "127.0.0.1";
  return host === "::" ? "::1" : host;
}

function readUrl(text: string, source: string): ServiceAddress {
  const url = URL.parse(text);
  // The message does not repeat other parts, such as a password.
  if (url === null || url.href !== `${url.origin}/`)
    throw usage(
      `${source} is not an address of a service: write https://HOST or https://HOST:PORT, without a path`,
    );
  // TLS sends the host name (RFC 6066, section 3), which can't be an IP address.
  if (url.protocol === "https:" && isIP(url.hostname.replace(/^\[|\]$/g, "")) !== 0)
    throw usage(
      `${source} has an IP address after https://: write the host name of its certificate`,
    );
  return { url: url.origin, place: url.origin };
}

/**
 * Uses TLS for the client when these variables configure it for the service. They do not contain
 * the host name of its certificate, so only a command that sends no secret may use them.
 *
 * @throws CliFailure (usage).
 */
function withTls(at: ServiceAddress, { world, anonymous }: AddressContext): ServiceAddress {
  const certificate = world.env["MOORING_TLS_CERT_FILE"]?.trim();
  if (at.socket !== undefined || !certificate) return at;
  if (!anonymous)
    throw usage(
      "these variables enable TLS (MOORING_TLS_CERT_FILE): set MOORING_ADDRESS to https://NAME:PORT with the name of the certificate",
    );
  return { ...at, url: at.url.replace("http:", "https:"), isUnnamed: true };
}
