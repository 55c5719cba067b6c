/**
 * IP address of a socket's peer; empty when unknown. IPv4-mapped IPv6 addresses (RFC 4291, section
 * 2.5.5.2) are returned as IPv4.
 */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return "";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}

/** Headers in which proxies name their client. */
export type ForwardingHeader =
  | "forwarded"
  | "x-forwarded-for"
  | "x-forwarded-proto"
  | "x-forwarded-host";

/**
 * Finds the address of the client of a call.
 *
 * @param address of the connection; undefined on a Unix socket.
 * @param header returns a header of the request.
 * @returns an IP address without port; empty when unknown.
 */
export type PeerOf = (
  address: string | undefined,
  header: (name: ForwardingHeader) => string | undefined,
) => string;

/** No proxy is trusted: the client is the peer of the connection. */
export const connectedPeer: PeerOf = plainAddress;
