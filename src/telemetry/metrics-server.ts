import { createServer } from "node:http";
import { Registry } from "prom-client";
import { type ConnectionBounds, limitConnections } from "../transport/connection-limit.ts";
import { type Address, formatAddress, listen } from "../transport/listen.ts";

/** Listening endpoint of metrics. */
export interface MetricsServer {
  readonly address: string;
  close(): void;
}

/** Limits of the metrics port. */
export interface MetricsLimits {
  /**
   * Maximum number of connections; further ones are closed at once. File descriptors are shared with
   * the main port.
   */
  readonly connections: ConnectionBounds;
  /** Time limit of a request, in milliseconds since its connection was opened. */
  readonly requestMs: number;
  /** Time limit of a reply without progress, in milliseconds. */
  readonly idleMs: number;
}

/** Limits that fit a few scrapers. */
const LIMITS: MetricsLimits = {
  connections: { all: 64, eachPeer: 32 },
  requestMs: 10_000,
  idleMs: 10_000,
};

/** Number of time-out checks within the time limit of a request. */
const CHECKS = 4;

/**
 * Serves `GET /metrics` without a token on a separate address.
 *
 * @param limits default: 64 connections, 32 of them for each address, and ten seconds.
 * @throws Error that names the address and what to do.
 */
export async function serveMetrics(
  { at, socketMode }: { readonly at: Address; readonly socketMode: number },
  text: () => Promise<string>,
  { connections, requestMs, idleMs }: MetricsLimits = LIMITS,
): Promise<MetricsServer> {
  const options = {
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    // Node's default is 30 seconds: until then the two timeouts have no effect.
    connectionsCheckingInterval: requestMs / CHECKS,
  };
  const server = createServer(options, (request, response) => {
    if (request.url !== "/metrics" || request.method !== "GET") {
      response
        .writeHead(404, { "content-type": "text/plain" })
        .end("metrics are at GET /metrics\n");
      return;
    }
    text().then(
      (body) =>
        response.writeHead(200, { "content-type": Registry.PROMETHEUS_CONTENT_TYPE }).end(body),
      () => response.writeHead(503, { "content-type": "text/plain" }).end("no metrics now\n"),
    );
  });
  server.timeout = idleMs;
  limitConnections(server, connections);
  const address = await listen(server, at, { variable: "MOORING_METRICS_LISTEN", socketMode });
  return {
    address: formatAddress(address),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
