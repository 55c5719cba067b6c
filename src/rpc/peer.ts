import { BlockList, isIP } from "node:net";
import { plainAddress } from "./call.ts";
import { forwardedFor, xForwardedFor } from "./forwarded.ts";

/** Headers by which proxies say who has asked them. */
export type ForwardingHeader = "forwarded" | "x-forwarded-for";

/**
 * Finds the address of the client of a call.
 *
 * @param address of whoever has connected; undefined on a Unix socket.
 * @param header what was sent, if any.
 * @returns an IP address without port; empty when unknown.
 */
export type PeerOf = (
  address: string | undefined,
  header: (name: ForwardingHeader) => string | undefined,
) => string;

/** Nobody's word is taken: the client is whoever has connected. */
export const connectedPeer: PeerOf = plainAddress;

/**
 * Takes the word of proxies about who asks them, in `Forwarded` (RFC 7239) or `X-Forwarded-For`: the
 * last address that is no trusted proxy's itself. What stands before it anybody could have written.
 * Where both headers come and name two clients, a proxy has let one of them through as somebody sent
 * it: then nobody's word is taken.
 *
 * @param trusted IP addresses, networks such as `10.0.0.0/8`, and `unix` for Unix sockets.
 */
export function createPeerOf(trusted: readonly string[]): PeerOf {
  if (trusted.length === 0) return connectedPeer;
  const networks = new BlockList();
  for (const entry of trusted) {
    const [address = "", length] = entry.split("/");
    const family = isIP(address);
    if (family === 0) continue;
    const type = family === 4 ? "ipv4" : "ipv6";
    networks.addSubnet(address, Number(length ?? (family === 4 ? 32 : 128)), type);
  }
  const unix = trusted.includes("unix");
  const isTrusted = (address: string): boolean => {
    if (address === "") return unix;
    return networks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  };
  const clientOf = (connected: string, nodes: Iterable<string | undefined>): string => {
    let peer = connected;
    for (const node of nodes) {
      const next = withoutPort(node ?? "");
      if (isIP(next) === 0) return peer;
      peer = plainAddress(next);
      if (!isTrusted(peer)) return peer;
    }
    return peer;
  };
  return (address, header) => {
    const connected = plainAddress(address);
    if (!isTrusted(connected)) return connected;
    const [standard, usual] = [header("forwarded"), header("x-forwarded-for")];
    const named = [
      ...(standard === undefined ? [] : [clientOf(connected, forwardedFor(standard))]),
      ...(usual === undefined ? [] : [clientOf(connected, xForwardedFor(usual))]),
    ];
    const [client = connected] = named;
    return named.every((other) => other === client) ? client : connected;
  };
}

/** Some proxies write `192.0.2.1:4711` and `[2001:db8::1]:4711`; a port may be hidden, too (`_p`). */
function withoutPort(text: string): string {
  const [, inner, plain] =
    /^(?:\[([^\]]*)\](?::(?:\d+|_[\w.-]+))?|([\d.]+):(?:\d+|_[\w.-]+))$/.exec(text) ?? [];
  return inner ?? plain ?? text;
}
