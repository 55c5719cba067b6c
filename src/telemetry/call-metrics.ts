import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { Counter, type Histogram, type Registry } from "prom-client";
import type { CallTransport } from "../gateway/call.ts";
import type { CallObserver } from "../gateway/report.ts";

const LABELS = ["grpc_type", "grpc_service", "grpc_method", "door"] as const;
type Labels = Readonly<Record<(typeof LABELS)[number], string>>;

/** Counts of a method on a transport: plain numbers, read on a scrape. */
interface Calls {
  readonly labels: Labels;
  started: number;
  /** By canonical code; undefined: OK. */
  readonly handled: Map<Code | undefined, number>;
  /** Undefined for streams, whose duration depends on the client. */
  readonly durations: Durations | undefined;
}

interface Durations {
  /** Number of calls per bucket; the last bucket is above all bounds. */
  readonly counts: number[];
  /** In seconds. */
  sum: number;
}

/**
 * Counts calls. Names and labels are those of the gRPC ecosystem (go-grpc-middleware,
 * providers/prometheus), so that its dashboards and alerts fit, with the transport of a call as
 * `door`.
 *
 * The library's counters are not used: they look up their labels at every call, which costs a tenth
 * of a read.
 *
 * @param bounds upper bounds of the durations, in seconds.
 */
export function countCalls(registry: Registry, bounds: readonly number[]): CallObserver {
  const calls = new Map<DescMethod, Map<CallTransport, Calls>>();
  const refused = new Map<string, number>();
  const callsOf = (desc: DescMethod, transport: CallTransport): Calls => {
    const byTransport = calls.get(desc) ?? new Map<CallTransport, Calls>();
    const known = byTransport.get(transport) ?? newCalls(desc, transport, bounds);
    byTransport.set(transport, known);
    calls.set(desc, byTransport);
    return known;
  };
  const all = (): Calls[] => [...calls.values()].flatMap((each) => [...each.values()]);
  const registers = [registry];
  counter({
    ...{ name: "grpc_server_started_total", labelNames: LABELS, registers },
    help: "Started calls of all transports.",
    read: () => all().map(({ labels, started }) => [labels, started]),
  });
  counter({
    ...{ name: "grpc_server_handled_total", labelNames: [...LABELS, "grpc_code"], registers },
    help: "Finished calls of all transports, by gRPC code.",
    read: () =>
      all().flatMap(({ labels, handled }) =>
        [...handled].map(([code, count]) => [
          { ...labels, grpc_code: code === undefined ? "OK" : Code[code] },
          count,
        ]),
      ),
  });
  counter({
    ...{ name: "mooring_refused_tokens_total", labelNames: ["door"], registers },
    help: "Calls refused because of a missing or wrong token.",
    read: () =>
      [...new Set(all().map(({ labels }) => labels.door))].map((door) => [
        { door },
        refused.get(door) ?? 0,
      ]),
  });
  registry.registerMetric(histogramOf(bounds, all) as unknown as Histogram);
  return {
    started: (desc, { transport }) => {
      callsOf(desc, transport).started += 1;
    },
    ended: ({ desc, call: { transport }, duration, error }) => {
      const { handled, durations } = callsOf(desc, transport);
      const code = error?.code;
      handled.set(code, (handled.get(code) ?? 0) + 1);
      if (durations !== undefined) {
        durations.sum += duration / 1_000;
        const place = placeOf(duration / 1_000, bounds);
        durations.counts[place] = (durations.counts[place] ?? 0) + 1;
      }
      if (code === Code.Unauthenticated) refused.set(transport, (refused.get(transport) ?? 0) + 1);
    },
  };
}

function newCalls(desc: DescMethod, transport: CallTransport, bounds: readonly number[]): Calls {
  return {
    labels: {
      grpc_type: desc.methodKind,
      grpc_service: desc.parent.typeName,
      grpc_method: desc.name,
      door: transport,
    },
    started: 0,
    handled: new Map(),
    durations:
      desc.methodKind === "unary"
        ? { counts: new Array<number>(bounds.length + 1).fill(0), sum: 0 }
        : undefined,
  };
}

function placeOf(seconds: number, bounds: readonly number[]): number {
  const place = bounds.findIndex((bound) => seconds <= bound);
  return place < 0 ? bounds.length : place;
}

interface CounterOptions {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly registers: Registry[];
  /** Returns the current values, on a scrape. */
  readonly read: () => (readonly [Readonly<Record<string, string>>, number])[];
}

function counter({ read, ...options }: CounterOptions): void {
  const made: Counter = new Counter({
    ...options,
    collect: () => {
      made.reset();
      for (const [labels, count] of read()) made.inc(labels, count);
    },
  });
}

/** Histogram in the form that the registry of the library expects. */
function histogramOf(bounds: readonly number[], read: () => readonly Calls[]) {
  const name = "grpc_server_handling_seconds";
  const help = "Duration of unary calls of all transports.";
  const valuesOf = ({ labels, durations }: Calls) => {
    if (durations === undefined) return [];
    let count = 0;
    const buckets = durations.counts.map((more, place) => {
      count += more;
      const le = bounds[place] ?? "+Inf";
      return { labels: { le, ...labels }, value: count, metricName: `${name}_bucket` };
    });
    return [
      ...buckets,
      { labels, value: durations.sum, metricName: `${name}_sum` },
      { labels, value: count, metricName: `${name}_count` },
    ];
  };
  const get = async () => ({
    ...{ name, help, type: "histogram", aggregator: "sum" },
    values: read().flatMap(valuesOf),
  });
  return { name, get };
}
