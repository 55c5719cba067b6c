import { BlockList, isIP, SocketAddress } from "node:net";
import { connectedPeer, type ForwardingHeader, type PeerOf, plainAddress } from "./address.ts";

/**
 * Reads the client address from trusted proxies, in `Forwarded` (RFC 7239) or `X-Forwarded-For`:
 * the last address that is not a trusted proxy's. Anything before it could be forged. If the two
 * headers name different clients, a proxy has forwarded one of them unchecked, and neither is used.
 *
 * @param trusted IP addresses, networks such as `10.0.0.0/8`, and `unix` for Unix sockets.
 */
export function createPeerOf(trusted: readonly string[]): PeerOf {
  if (trusted.length === 0) return connectedPeer;
  const originOf = createOriginOf(trusted);
  return (address, header) => originOf(address, header).peer;
}

/** Origin of a call. */
export interface Origin {
  /** An IP address without port; empty when unknown. */
  readonly peer: string;
  /** Requested scheme and host according to trusted proxies: `http` or `https`, and a host. */
  readonly scheme?: string;
  readonly host?: string;
}

/**
 * Like createPeerOf, with the requested scheme and host, according to the outermost trusted proxy.
 * In `X-Forwarded-Proto` and `X-Forwarded-Host`, the value at the position of the client in
 * `X-Forwarded-For` applies, counted from the right, or a single value.
 */
export function createOriginOf(trusted: readonly string[]) {
  const isTrusted = trustIn(trusted);
  const walk = (connected: string, said: Iterable<Said>): Walk => {
    let [peer, last, steps] = [connected, {} as Said, 0];
    for (const each of said) {
      [last, steps] = [each, steps + 1];
      const next = withoutPort(each.node ?? "");
      if (isIP(next) === 0) break;
      peer = canonical(next);
      if (!isTrusted(peer)) break;
    }
    return { peer, last, steps };
  };
  return (
    address: string | undefined,
    header: (name: ForwardingHeader) => string | undefined,
  ): Origin => {
    const connected = plainAddress(address);
    if (!isTrusted(connected)) return { peer: connected };
    const [standard, usual] = [header("forwarded"), header("x-forwarded-for")];
    const first = standard === undefined ? undefined : walk(connected, forwardedElements(standard));
    const second = usual === undefined ? undefined : walk(connected, nodesOf(xForwardedFor(usual)));
    if (first && second && first.peer !== second.peer) return { peer: connected };
    const steps = Math.max(second?.steps ?? 1, 1);
    const { proto, host } = first?.last ?? {};
    const scheme = agreed(proto, fromRight(header("x-forwarded-proto"), steps))?.toLowerCase();
    const asked = agreed(host, fromRight(header("x-forwarded-host"), steps));
    return {
      peer: (first ?? second)?.peer ?? connected,
      ...(scheme === "http" || scheme === "https" ? { scheme } : {}),
      ...(asked !== undefined && HOST.test(asked) ? { host: asked } : {}),
    };
  };
}

/** Element of one proxy. */
type Said = Partial<ForwardedElement>;

interface Walk {
  readonly peer: string;
  readonly last: Said;
  /** Number of trusted proxies in the chain. */
  readonly steps: number;
}

/** A name or an address, with or without a port (RFC 9110, section 7.2). */
const HOST = /^(?:\[[\da-f:.]+\]|[\w.~%!$&'()*+;=-]+)(?::\d{1,5})?$/i;

function trustIn(trusted: readonly string[]): (address: string) => boolean {
  const networks = new BlockList();
  for (const entry of trusted) {
    const [address = "", length] = entry.split("/");
    const family = isIP(address);
    if (family === 0) continue;
    const type = family === 4 ? "ipv4" : "ipv6";
    networks.addSubnet(address, Number(length ?? (family === 4 ? 32 : 128)), type);
  }
  const unix = trusted.includes("unix");
  return (address) => {
    if (address === "") return unix;
    return networks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  };
}

/** Canonical form of an address (RFC 5952) without its zone: proxies use any form. */
function canonical(address: string): string {
  if (isIP(address) !== 6) return address;
  const [plain = ""] = address.split("%");
  return plainAddress(new SocketAddress({ address: plain, family: "ipv6" }).address);
}

function* nodesOf(nodes: Iterable<string>): Generator<Said> {
  for (const node of nodes) yield { node };
}

/** Value that is given once, or twice and equal: of two different values one may be forged. */
function agreed(one: string | undefined, other: string | undefined): string | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return one.toLowerCase() === other.toLowerCase() ? one : undefined;
}

function fromRight(list: string | undefined, steps: number): string | undefined {
  const parts = list?.split(",");
  return parts?.[Math.max(0, parts.length - steps)]?.trim();
}

/** Removes the port: some proxies write `192.0.2.1:4711` or `[2001:db8::1]:4711`; it may be obfuscated (`_p`). */
function withoutPort(text: string): string {
  const [, inner, plain] =
    /^(?:\[([^\]]*)\](?::(?:\d+|_[\w.-]+))?|([\d.]+):(?:\d+|_[\w.-]+))$/.exec(text) ?? [];
  return inner ?? plain ?? text;
}

/** A name, or a value that needs no quotes (RFC 9110, section 5.6.2). */
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const QUOTED = String.raw`"(?:[^"\\]|\\.)*"`;
const PAIR = `(${TOKEN})=(${TOKEN}|${QUOTED})`;
const SPACE = "[ \\t]*";
const ELEMENT = new RegExp(`^${SPACE}${PAIR}(?:${SPACE};${SPACE}${PAIR})*${SPACE}$`);
const PAIRS = new RegExp(PAIR, "g");

/** Element of one proxy about its client. Undefined members: absent, or given more than once. */
interface ForwardedElement {
  /** Such as `192.0.2.1:80`, `[2001:db8::1]`, `unknown` or `_hidden`. */
  readonly node: string | undefined;
  /** Requested scheme and host. */
  readonly proto: string | undefined;
  readonly host: string | undefined;
}

/**
 * Elements of the header `Forwarded` (RFC 7239), from the last one. They are parsed from the right:
 * the first elements may be forged, including unterminated quotes, and must not hide later ones.
 *
 * @returns elements; ends with one without a client, or before an invalid one.
 */
function* forwardedElements(header: string): Generator<ForwardedElement> {
  let end = header.length;
  while (end >= 0) {
    const start = startOfElement(header, end);
    if (start === undefined) return;
    const element = readElement(header.slice(start, end));
    yield element;
    if (element.node === undefined) return;
    end = start - 1;
  }
}

/** Start of the element that ends at a position: after a comma outside of quotes. */
function startOfElement(header: string, end: number): number | undefined {
  for (let comma = end; comma >= 0; ) {
    comma = comma === 0 ? -1 : header.lastIndexOf(",", comma - 1);
    if (ELEMENT.test(header.slice(comma + 1, end))) return comma + 1;
  }
  return undefined;
}

/** Parses an element, whose members must be unique. */
function readElement(text: string): ForwardedElement {
  const pairs = [...text.matchAll(PAIRS)];
  const member = (wanted: string): string | undefined => {
    const found = pairs.filter(([, name]) => name?.toLowerCase() === wanted);
    const [[, , value = ""] = []] = found;
    if (found.length !== 1) return undefined;
    return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, "$1") : value;
  };
  return { node: member("for"), proto: member("proto"), host: member("host") };
}

/** The addresses of `X-Forwarded-For`, the last one first. */
function* xForwardedFor(header: string): Generator<string> {
  let end = header.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : header.lastIndexOf(",", end - 1);
    yield header.slice(comma + 1, end).trim();
    end = comma;
  }
}
