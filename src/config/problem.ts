import { formatAddress } from "../transport/listen.ts";
import { nearestName, quote } from "./complaint.ts";
import { inMemory } from "./database.ts";
import { definitionList, definitions, type Values } from "./definition.ts";

/** Problems of values that are valid by themselves but conflict. */
export function contradictions({
  listen,
  grpcListen,
  database,
  workers = 1,
  tlsCertificate,
  tlsKey,
  tlsClientAuthorities,
  ...sizes
}: Partial<Values>): string[] {
  const problems: string[] = [];
  if ((tlsCertificate === undefined) !== (tlsKey === undefined))
    problems.push("MOORING_TLS_CERT_FILE and MOORING_TLS_KEY_FILE go together: give both");
  else if (tlsClientAuthorities !== undefined && tlsCertificate === undefined)
    problems.push(
      "MOORING_TLS_CLIENT_CA_FILE needs MOORING_TLS_CERT_FILE: without it there is no TLS",
    );
  else if (tlsCertificate !== undefined && [listen, grpcListen].some((at) => at && "path" in at))
    problems.push(
      "MOORING_TLS_CERT_FILE requires a port, and a Unix socket has no TLS: omit one of them",
    );
  const address = listen === undefined ? "" : formatAddress(listen);
  // Two sockets with port 0 get different ports.
  if (
    grpcListen !== undefined &&
    formatAddress(grpcListen) === address &&
    !address.endsWith(":0")
  ) {
    problems.push(
      `MOORING_GRPC_LISTEN and MOORING_LISTEN are both ${quote(address)}: omit the former, ` +
        "and gRPC shares the port",
    );
  }
  if (database?.dialect === "sqlite" && database.filename === inMemory && workers > 1) {
    problems.push(
      `MOORING_WORKERS is ${workers}, but MOORING_DATABASE_URL is in memory, which processes ` +
        "cannot share: use one worker or a file",
    );
  }
  for (const [smaller, larger] of nestedSizes) {
    if ((sizes[smaller] ?? 0) > (sizes[larger] ?? Number.POSITIVE_INFINITY)) {
      const names = [smaller, larger].map((name) => definitions[name].variable);
      problems.push(`${names.join(" is larger than ")}, which is its upper limit`);
    }
  }
  return problems;
}

/** Pairs of sizes; the first one must not exceed the second one. */
const nestedSizes = [
  ["maxValue", "maxBody"],
  ["maxBody", "maxBuffered"],
  ["streamBuffer", "streamBufferTotal"],
] as const;

/**
 * One problem for each unknown variable that begins with `MOORING_`, except those in `others` (of
 * other commands) and those set by a cluster. The value is not shown: it may be a secret with a
 * misspelt name.
 */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  others: readonly string[],
): string[] {
  const known = [...definitionList.map(({ variable }): string => variable), ...others];
  return Object.entries(env)
    .filter(([name]) => name.startsWith("MOORING_") && !known.includes(name))
    .filter(([name, value]) => !isServiceLink(name, value ?? ""))
    .map(([name]) => {
      const nearest = nearestName(name, known);
      return `unknown variable ${quote(name)}: did you mean ${nearest}? --help lists all`;
    });
}

/**
 * Reports whether a variable was set by a cluster. Kubernetes puts the address of each service into
 * the environment of every pod of its namespace, under the service's name in capitals (documented
 * there under "Discovering services"): one called `mooring` or `mooring-grpc` brings
 * MOORING_SERVICE_HOST, MOORING_PORT, MOORING_GRPC_PORT_5244_TCP_ADDR and so on.
 */
function isServiceLink(name: string, value: string): boolean {
  // A configured port is a number; that of a cluster is a URL such as tcp://10.0.0.7:5244.
  if (/_PORT(_\d+_(TCP|UDP|SCTP))?$/.test(name) && /^(tcp|udp|sctp):\/\//.test(value)) return true;
  return /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)_(PROTO|PORT|ADDR)$/.test(name);
}
