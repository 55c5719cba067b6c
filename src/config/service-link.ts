/**
 * True for a variable that a cluster sets and no person wrote. Kubernetes puts the address of each
 * service into the environment of every pod of its namespace, under the service's name in capitals
 * (documented there under "Discovering services"): one called `mooring` or `mooring-grpc` brings
 * MOORING_SERVICE_HOST, MOORING_PORT, MOORING_GRPC_PORT_5244_TCP_ADDR and so on.
 */
export function isServiceLink(name: string, value: string): boolean {
  // A port that a person sets is a number; the cluster's is a URL such as tcp://10.0.0.7:5244.
  if (/_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value)) {
    return true;
  }
  return /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$/.test(name);
}
