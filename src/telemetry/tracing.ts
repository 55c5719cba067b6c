import { Code } from "@connectrpc/connect";
import { codeToString } from "@connectrpc/connect/protocol-connect";
import { type Attributes, ROOT_CONTEXT, SpanKind, SpanStatusCode } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { CallObserver } from "../gateway/observer.ts";

/** Spans of calls, sent by OTLP. */
export interface Tracing {
  readonly observer: CallObserver;
  /** Sends pending spans. */
  close(): Promise<void>;
}

/** Codes of server errors (OpenTelemetry, "gRPC Status", server spans). */
const FAULTS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/**
 * Creates a span for each call when it ends, by the semantic conventions of RPC. The client's
 * `traceparent` (W3C Trace Context) is its parent and determines sampling.
 *
 * @param env contains OTEL_EXPORTER_OTLP_ENDPOINT, and optionally OTEL_SERVICE_NAME,
 *   OTEL_TRACES_SAMPLER_ARG (the sampled share of calls without a parent) and other variables of
 *   the exporter.
 */
export function createTracing(
  env: Readonly<Record<string, string | undefined>>,
  version: string,
): Tracing {
  const share = Number(env["OTEL_TRACES_SAMPLER_ARG"] ?? 1);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": env["OTEL_SERVICE_NAME"] ?? "mooring",
      "service.version": version,
      "process.pid": process.pid,
    }),
    sampler: new ParentBasedSampler({
      root: new TraceIdRatioBasedSampler(Number.isFinite(share) ? share : 1),
    }),
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const tracer = provider.getTracer("mooring", version);
  const propagator = new W3CTraceContextPropagator();
  return {
    observer: {
      started: () => undefined,
      ended: ({ desc, call, duration, error }) => {
        const { header } = call;
        const parent =
          header === undefined
            ? ROOT_CONTEXT
            : propagator.extract(ROOT_CONTEXT, call, {
                keys: () => [],
                get: (from, name) => from.header?.(name),
              });
        const ended = Date.now();
        const name = `${desc.parent.typeName}/${desc.name}`;
        const attributes: Attributes = {
          "rpc.system.name": call.transport.startsWith("grpc") ? "grpc" : "connectrpc",
          "rpc.method": name,
          "rpc.response.status_code": error ? codeToString(error.code).toUpperCase() : "OK",
          "client.address": call.peer,
          "mooring.transport": call.transport,
          "mooring.request_id": call.requestId,
        };
        const options = { kind: SpanKind.SERVER, startTime: ended - duration, attributes };
        const span = tracer.startSpan(name, options, parent);
        if (error && FAULTS.has(error.code)) span.setStatus({ code: SpanStatusCode.ERROR });
        span.end(ended);
      },
    },
    close: () => provider.shutdown(),
  };
}
