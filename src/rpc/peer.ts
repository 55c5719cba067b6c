/**
 * A client's address as calls name it, from a socket's: empty when unknown, and an IPv4 client on a
 * socket that listens on IPv6 (RFC 4291, section 2.5.5.2) as IPv4.
 */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return "";
  return address.startsWith("::ffff:") ? address.slice(7) : address;
}
