import { createServer } from "node:http";
import { Registry } from "prom-client";
import { type Address, formatAddress } from "../config/address.ts";
import { listen } from "../http/listen.ts";

/** A listening endpoint of metrics. */
export interface MetricsServer {
  readonly address: string;
  close(): void;
}

/**
 * Serves `GET /metrics`, without a token: it listens at an address of its own.
 *
 * @throws Error naming the address and what to do.
 */
export async function serveMetrics(
  { at, socketMode }: { readonly at: Address; readonly socketMode: number },
  text: () => Promise<string>,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
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
  server.requestTimeout = 10_000;
  const address = await listen(server, at, { variable: "MOORING_METRICS_LISTEN", socketMode });
  return {
    address: formatAddress(address),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
