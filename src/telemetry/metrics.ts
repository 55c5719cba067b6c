import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import {
  AggregatorRegistry,
  Counter,
  collectDefaultMetrics,
  Gauge,
  Histogram,
  Registry,
} from "prom-client";
import type { CallTransport } from "../gateway/call.ts";
import type { CallObserver } from "../gateway/observer.ts";

/** Upper bounds of the histograms, in seconds. */
const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5];

/** Default gauges with names like counters. */
const MISNAMED = ["handles", "requests", "resources"].map((name) => `nodejs_active_${name}_total`);

/** Gauges, read on a scrape. */
export interface MeasuredState {
  readonly revision: number;
  /** Milliseconds since the last answer of an unavailable database; 0: it is available. */
  readonly databaseAwayFor: number;
  /** Open streams. */
  readonly watchers: number;
  /** Streams ended because their clients read too slowly, since the start. */
  readonly droppedWatchers: number;
  /** Bytes buffered for slow watchers. */
  readonly streamBytes: number;
  /** Bytes of incomplete requests. */
  readonly requestBytes: number;
  readonly sites: readonly MeasuredSite[];
  /** Number of open incidents by class; 0 in processes that do not follow mounts. */
  readonly incidents: Readonly<Record<string, number>>;
  /** Number of tokens that expire soon. */
  readonly expiringTokens: number;
  /** Backups; undefined: the service keeps none. */
  readonly backup?: MeasuredBackup | undefined;
  /** The number of the audit's newest row. */
  readonly newestAudit: number;
  /** Last published checkpoint of the audit, with its hash in hexadecimal. */
  readonly checkpoint: { readonly seq: number; readonly hash: string } | undefined;
}

/** Backups of the service. */
interface MeasuredBackup {
  /** Time of the newest good one, in milliseconds since 1970 UTC; 0: none. */
  readonly time: number;
  /** Its size in bytes. */
  readonly size: number;
  /** Duration of the last backup of this process, in milliseconds; 0: none. */
  readonly duration: number;
  readonly isFailing: boolean;
}

/** Site. Only admins choose its name, so that it may be a label. */
interface MeasuredSite {
  readonly name: string;
  /** `ok`, `waiting`, `differs`, `failing` or `stuck`. */
  readonly state: string;
  readonly up: boolean;
  /** Number of revisions that are not on the site yet. */
  readonly lag: number;
  /** Number of keys with different values on the site. */
  readonly drift: number;
  /** Number of keys whose values the site refused. */
  readonly refused: number;
  /** Number of mounts by state. */
  readonly mounts: Readonly<Record<string, number>>;
  /** Number of folder rules by state. */
  readonly rules: Readonly<Record<string, number>>;
}

/** Metrics for Prometheus. No label contains data of clients, so that their number is bounded. */
export interface Metrics {
  readonly observer: CallObserver;
  /** Records the duration of a commit, in milliseconds. */
  readonly committed: (duration: number) => void;
  /** Sets the source of the gauges. */
  readonly measure: (state: () => MeasuredState) => void;
  /** @returns the metrics in the Prometheus text format. */
  readonly text: () => Promise<string>;
}

/** Gauge with one value. */
interface ProcessGauge {
  readonly name: string;
  readonly help: string;
  readonly read: (now: MeasuredState) => number;
  /** How the values of workers are joined. Default: sum. */
  readonly aggregator?: "sum" | "max" | "min";
}

const PROCESS_GAUGES: readonly ProcessGauge[] = [
  {
    name: "mooring_revision",
    help: "Newest revision of the settings.",
    read: (now) => now.revision,
    aggregator: "max",
  },
  {
    name: "mooring_database_up",
    help: "1 if the database answers; otherwise reads are served from memory.",
    read: (now) => Number(now.databaseAwayFor === 0),
    aggregator: "min",
  },
  {
    name: "mooring_database_last_contact_timestamp_seconds",
    help: "Time of the last answer of the database, in seconds since 1970 UTC.",
    read: (now) => (Date.now() - now.databaseAwayFor) / 1000,
    aggregator: "min",
  },
  { name: "mooring_watchers", help: "Open streams.", read: (now) => now.watchers },
  {
    name: "mooring_stream_buffered_bytes",
    help: "Bytes buffered for slow watchers.",
    read: (now) => now.streamBytes,
  },
  {
    name: "mooring_request_buffered_bytes",
    help: "Bytes of incomplete requests.",
    read: (now) => now.requestBytes,
  },
  {
    name: "mooring_tokens_expiring_soon",
    help: "Valid tokens that expire soon and have no successor.",
    read: (now) => now.expiringTokens,
    aggregator: "max",
  },
  {
    name: "mooring_audit_newest_row",
    help: "Number of the audit's newest row.",
    read: (now) => now.newestAudit,
    aggregator: "max",
  },
];

/** Gauge with a value for each set of labels. */
interface LabelledGauge {
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  readonly read: (
    now: MeasuredState,
  ) => readonly (readonly [labels: Readonly<Record<string, string>>, value: number])[];
  /** How the values of workers are joined. Default: max. */
  readonly aggregator?: "sum" | "max" | "min";
}

const LABELLED_GAUGES: readonly LabelledGauge[] = [
  {
    name: "mooring_backup_newest_timestamp_seconds",
    help: "Time of the newest good backup, in seconds since 1970 UTC; 0: none.",
    labels: [],
    read: ofBackup(({ time }) => time / 1000),
  },
  {
    name: "mooring_backup_size_bytes",
    help: "Size of the newest good backup.",
    labels: [],
    read: ofBackup(({ size }) => size),
  },
  {
    name: "mooring_backup_duration_seconds",
    help: "Duration of the last backup of this process, with its check.",
    labels: [],
    read: ofBackup(({ duration }) => duration / 1000),
  },
  {
    name: "mooring_backup_failing",
    help: "1 if the last scheduled backup failed, or is late.",
    labels: [],
    read: ofBackup(({ isFailing }) => Number(isFailing)),
  },
  {
    name: "mooring_audit_checkpoint",
    help: "Row number of the last checkpoint of the audit; the label is its hash.",
    labels: ["hash"],
    read: ({ checkpoint }) =>
      checkpoint === undefined ? [] : [[{ hash: checkpoint.hash }, checkpoint.seq]],
  },
  {
    name: "mooring_site_state",
    help: "1 for the state of a site: ok, waiting, differs, failing or stuck.",
    labels: ["site", "state"],
    read: ({ sites }) => sites.map(({ name, state }) => [{ site: name, state }, 1]),
  },
  {
    name: "mooring_site_up",
    help: "1 if a site answers.",
    labels: ["site"],
    read: ofSites(({ up }) => Number(up)),
    aggregator: "min",
  },
  {
    name: "mooring_site_lag_revisions",
    help: "Revisions that a site does not have yet.",
    labels: ["site"],
    read: ofSites(({ lag }) => lag),
  },
  {
    name: "mooring_site_drift_keys",
    help: "Settings that differ on a site.",
    labels: ["site"],
    read: ofSites(({ drift }) => drift),
  },
  {
    name: "mooring_site_refused_keys",
    help: "Settings that a site refused.",
    labels: ["site"],
    read: ofSites(({ refused }) => refused),
  },
  {
    name: "mooring_site_mounts",
    help: "Mounts on a site, by state: ok, waiting, differs, failing or stuck.",
    labels: ["site", "state"],
    read: byState(({ mounts }) => mounts),
  },
  {
    name: "mooring_site_rules",
    help: "Folder rules on a site, by state as for mounts.",
    labels: ["site", "state"],
    read: byState(({ rules }) => rules),
  },
];

function byState(
  countsOf: (site: MeasuredSite) => Readonly<Record<string, number>>,
): LabelledGauge["read"] {
  return ({ sites }) =>
    sites.flatMap((site) =>
      Object.entries(countsOf(site)).map(
        ([state, count]) => [{ site: site.name, state }, count] as const,
      ),
    );
}

function ofBackup(read: (backup: MeasuredBackup) => number): LabelledGauge["read"] {
  return ({ backup }) => (backup === undefined ? [] : [[{}, read(backup)]]);
}

function ofSites(read: (site: MeasuredSite) => number): LabelledGauge["read"] {
  return ({ sites }) => sites.map((site) => [{ site: site.name }, read(site)]);
}

/** Creates the metrics of this process. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  const registers = [registry];
  const info = new Gauge({
    name: "mooring_build_info",
    help: "Always 1; the labels are the running versions.",
    labelNames: ["version", "node"],
    aggregator: "first",
    registers,
  });
  info.set({ version, node: process.version }, 1);
  const commits = new Histogram({
    name: "mooring_store_commit_seconds",
    help: "Duration of database transactions, including the wait for the lock.",
    buckets: BUCKETS,
    registers,
  });
  let state: (() => MeasuredState) | undefined;
  addMeasured(registry, () => state?.());
  // The supervisor collects the metrics of a worker: creating the registry starts listening.
  new AggregatorRegistry();
  AggregatorRegistry.setRegistries(registry);
  return {
    observer: countCalls(registry, BUCKETS),
    committed: (duration) => commits.observe(duration / 1000),
    measure: (from) => {
      state = from;
    },
    text: () => registry.metrics(),
  };
}

/** Adds the metrics that are read on a scrape. @param state undefined: nothing is known yet. */
function addMeasured(registry: Registry, state: () => MeasuredState | undefined): void {
  const registers = [registry];
  for (const { name, help, read, aggregator = "sum" } of PROCESS_GAUGES) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      aggregator,
      registers,
      collect: () => {
        const now = state();
        if (now !== undefined) gauge.set(read(now));
      },
    });
  }
  for (const { name, help, labels, read, aggregator = "max" } of LABELLED_GAUGES) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      aggregator,
      registers,
      labelNames: [...labels],
      collect: () => {
        gauge.reset();
        const now = state();
        for (const [own, value] of now === undefined ? [] : read(now)) gauge.set({ ...own }, value);
      },
    });
  }
  const incidents: Gauge = new Gauge({
    name: "mooring_incidents",
    help: "Open incidents of mounts, by class.",
    labelNames: ["class"],
    registers,
    collect: () => {
      for (const [name, count] of Object.entries(state()?.incidents ?? {}))
        incidents.set({ class: name }, count);
    },
  });
  const dropped: Counter = new Counter({
    name: "mooring_watchers_dropped_total",
    help: "Streams ended because their clients read too slowly.",
    registers,
    collect: () => {
      const now = state();
      dropped.reset();
      if (now !== undefined) dropped.inc(now.droppedWatchers);
    },
  });
}

/** For the supervisor: the sum of the metrics of all workers. */
export function workerMetrics(): () => Promise<string> {
  const registry = new AggregatorRegistry();
  return () => registry.clusterMetrics();
}

const LABELS = ["grpc_type", "grpc_service", "grpc_method", "transport"] as const;
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
 * `transport`.
 *
 * The library's counters are not used: they look up their labels at every call, which costs a tenth
 * of a read.
 *
 * @param bounds upper bounds of the durations, in seconds.
 */
function countCalls(registry: Registry, bounds: readonly number[]): CallObserver {
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
    name: "grpc_server_started_total",
    labelNames: LABELS,
    registers,
    help: "Started calls of all transports.",
    read: () => all().map(({ labels, started }) => [labels, started]),
  });
  counter({
    name: "grpc_server_handled_total",
    labelNames: [...LABELS, "grpc_code"],
    registers,
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
    name: "mooring_refused_tokens_total",
    labelNames: ["transport"],
    registers,
    help: "Calls refused because of a missing or wrong token.",
    read: () =>
      [...new Set(all().map(({ labels }) => labels.transport))].map((transport) => [
        { transport },
        refused.get(transport) ?? 0,
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
      transport,
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
    name,
    help,
    type: "histogram",
    aggregator: "sum",
    values: read().flatMap(valuesOf),
  });
  return { name, get };
}
