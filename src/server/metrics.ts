import { createServer, type Server } from "node:http";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  AggregatorRegistry,
  type Counter,
  Counter as CounterOf,
  collectDefaultMetrics,
  type Histogram,
  Histogram as HistogramOf,
  Registry,
} from "prom-client";
import { type Address, formatAddress } from "../config/address.ts";
import type { CallReport } from "../rpc/interceptor/report.ts";
import type { Door } from "../rpc/method.ts";
import { listen } from "./listen.ts";

/** Upper bounds of the histogram, in seconds: from a read from memory to a slow download manager. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];

/** Counts calls, for Prometheus. No label holds anything that a client sends. */
export interface Metrics {
  readonly count: (report: CallReport) => void;
  /** @returns the metrics in the Prometheus text format. */
  readonly text: () => Promise<string>;
}

/** Makes the metrics of this process. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const calls = new CounterOf({
    name: "mooring_calls_total",
    help: "Calls that have ended, by protocol, rpc and canonical code.",
    labelNames: ["door", "method", "code"],
    registers: [registry],
  });
  const seconds = new HistogramOf({
    name: "mooring_call_duration_seconds",
    help: "How long calls took, by protocol and rpc.",
    labelNames: ["door", "method"],
    buckets: BUCKETS,
    registers: [registry],
  });
  // A worker is asked for its metrics by the process that watches over it: making one listens.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries(registry);
  return { count: createCount(calls, seconds), text: () => registry.metrics() };
}

/** What a call counts into is looked up once for each kind of call. */
function createCount(
  calls: Counter<"door" | "method" | "code">,
  seconds: Histogram<"door" | "method">,
): Metrics["count"] {
  const kinds = new Map<DescMethod, Map<string, Kind>>();
  return ({ desc, call, duration, error }) => {
    // A success, which is what most calls are, is found without making a name for it.
    const outcome = error === undefined ? call.door : `${call.door} ${error.code}`;
    const known = kinds.get(desc)?.get(outcome);
    const kind = known ?? kindOf(desc, call.door, error);
    if (known === undefined)
      kinds.set(desc, new Map([...(kinds.get(desc) ?? []), [outcome, kind]]));
    kind.calls.inc();
    kind.seconds.observe(duration / 1000);
  };

  function kindOf(desc: DescMethod, door: Door, error: CallReport["error"]): Kind {
    const labels = { door, method: `${desc.parent.typeName}/${desc.name}` };
    const code = error === undefined ? "OK" : Code[error.code];
    return { calls: calls.labels({ ...labels, code }), seconds: seconds.labels(labels) };
  }
}

/** What a kind of call counts into. */
interface Kind {
  readonly calls: Counter.Internal;
  readonly seconds: Histogram.Internal<never>;
}

/** For the process that watches over workers: the sum of all their metrics. */
export function workerMetrics(): () => Promise<string> {
  const registry = new AggregatorRegistry();
  return () => registry.clusterMetrics();
}

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
  at: Address,
  text: () => Promise<string>,
): Promise<MetricsServer> {
  const server: Server = createServer((request, response) => {
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
  const address = await listen(server, at, "MOORING_METRICS_LISTEN");
  return {
    address: formatAddress(address),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
