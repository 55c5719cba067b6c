import { auditRefusals } from "../access/refusal.ts";
import { publicMethods, requirementOf } from "../access/requirement.ts";
import { readToken, TOKEN_PREFIX } from "../access/token-text.ts";
import type { Config } from "../config/config.ts";
import { createMethods, type Method } from "../gateway/method.ts";
import { type CallObserver, combineObservers, countStreams } from "../gateway/observer.ts";
import { reportInterceptor } from "../gateway/report.ts";
import { createTranslations } from "../messages/language.ts";
import { createLocalize, localizeFailure } from "../messages/localize.ts";
import { SETTINGS } from "../settings/kind.ts";
import { TOKEN_KEY, tokenEquals } from "../settings/token.ts";
import { type Logger, logCalls } from "../telemetry/log.ts";
import type { MeasuredState } from "../telemetry/metrics.ts";
import { Buffered } from "../transport/body.ts";
import type { OpenFront } from "../transport/front.ts";
import type { Address } from "../transport/listen.ts";
import { openListeners } from "../transport/listeners.ts";
import { SlowReaders } from "../transport/slow-reader.ts";
import { upstreamInterceptor } from "../upstream/interceptor.ts";
import { checkInterceptor } from "./call-checks.ts";
import { createHealth } from "./health.ts";
import { createServers } from "./listeners.ts";
import { openPorts } from "./ports.ts";
import { createRoutes, type Services, servedServices } from "./routes.ts";
import { type RunningServices, type ServicesDeps, startServices } from "./services.ts";
import { figuresOf } from "./site-summary.ts";

/** Time after which a stream without progress is dropped, in milliseconds. */
const STALLED = 30_000;

export interface MooringDeps
  extends Omit<ServicesDeps, "commonLog" | "localize" | "watchers" | "draining"> {
  /** Listening port; undefined: it is opened here. */
  readonly front?: OpenFront;
  /** Log for events that every process on this database observes. Default: the log. */
  readonly commonLog?: Logger;
  /** Observers of every call, besides the log. */
  readonly observers?: readonly CallObserver[];
}

/** A running service. */
export interface Mooring {
  /** The listening address, with the real port instead of port 0. */
  readonly address: Address;
  /** The address of gRPC: its own, or the shared one. */
  readonly grpcAddress: Address;
  /** Current values of the gauges. */
  gauges(): MeasuredState;
  /**
   * Stops the service: health turns NOT_SERVING, nothing new is accepted, calls in flight finish
   * within the grace time, then the database is closed.
   */
  stop(): Promise<void>;
}

/**
 * Starts the service: the wiring, top to bottom. The ports listen first; connections wait until the
 * services exist.
 *
 * @throws Error with a message for the operator, when it cannot start.
 */
export async function startMooring(config: Config, deps: MooringDeps): Promise<Mooring> {
  const { log, commonLog = log } = deps;
  const translations = createTranslations();
  const localize = createLocalize(translations);
  const streams = countStreams();
  const stopping = new AbortController();
  // Closes what was opened when a later part fails to start.
  await using opened = new AsyncDisposableStack();
  // Before the database is opened: the start fails if a port is in use.
  const ports = await openPorts(config, deps.front, commonLog);
  opened.defer(() => {
    ports.close();
    for (const port of [ports.shared, ports.grpc]) port?.front.close();
  });
  const services = await startServices(config, {
    ...deps,
    commonLog,
    localize,
    watchers: streams.count,
    draining: () => stopping.signal.aborted,
  });
  opened.defer(services.close);
  const { authentication, audit, settings, upstream } = services;
  const health = createHealth(servedServices.map(({ typeName }) => typeName));
  const observer = combineObservers([
    streams,
    { ended: logCalls(log) },
    auditRefusals(audit),
    ...(deps.observers ?? []),
  ]);
  const methods = createMethods(createRoutes(services, health, translations), [
    reportInterceptor(observer, () => performance.now(), localizeFailure(localize)),
    authentication.interceptor,
    checkInterceptor(services.ledger, services.settings.line, services.databaseAwayFor),
    ...(upstream === undefined ? [] : [upstreamInterceptor(upstream, translations)]),
  ]);
  checkAccessOptions(methods);
  const slowReaders = new SlowReaders({
    together: config.streamBufferTotal,
    patienceMs: STALLED,
  });
  const buffered = new Buffered(config.maxBuffered);
  const { databaseId } = services;
  const servers = await createServers(config, {
    methods,
    observer,
    slowReaders,
    buffered,
    upstream,
    localize,
    log,
    translations,
    version: deps.version,
    admit: authentication.admit,
    check: authentication.check,
    checks: services.status.checks,
    etagPrefix: () => `${databaseId()}-`,
    isOwnToken: (authorization) => {
      const token = settings.snapshot().get(SETTINGS, TOKEN_KEY)?.value ?? "";
      const sent = readToken(authorization);
      return sent.startsWith(TOKEN_PREFIX) || tokenEquals(token, sent);
    },
  });
  const listeners = await openListeners({
    ...servers,
    front: ports.shared.front,
    grpcFront: ports.grpc?.front,
    connections: { all: config.maxConnections, eachPeer: config.maxConnectionsPerPeer },
    maxHeaderBytes: config.maxHeaders,
    maxStreams: config.maxStreams,
  });
  health.set("SERVING");
  opened.move();
  return {
    address: ports.shared.address,
    grpcAddress: (ports.grpc ?? ports.shared).address,
    gauges: () => ({
      ...serviceFigures(services),
      watchers: streams.count(),
      droppedWatchers: slowReaders.dropped,
      streamBytes: slowReaders.bytes,
      requestBytes: buffered.bytes,
    }),
    stop: async () => {
      stopping.abort();
      health.set("NOT_SERVING");
      health.close();
      services.endStreams();
      ports.close();
      await listeners.close(config.shutdownGraceMs);
      await services.close();
    },
  };
}

/** @throws Error for a method without an access option, or one that only one place calls public. */
function checkAccessOptions(methods: readonly Method[]): void {
  for (const { desc } of methods)
    if (requirementOf(desc).isPublic !== publicMethods.has(desc))
      throw new Error(
        `${desc.toString()} must be public in both the contract and publicMethods, or in neither`,
      );
}

/** Gauges of the services. */
function serviceFigures(services: RunningServices) {
  return {
    revision: services.settings.snapshot().revision,
    databaseAwayFor: services.databaseAwayFor(),
    sites: figuresOf(services.sites),
    incidents: services.incidentCounts(),
    expiringTokens: services.access.expiringTokens().length,
    backup: backupFigures(services),
    newestAudit: services.checkpoints.newest(),
    checkpoint: services.checkpoints.published(),
  };
}

/** Figures of the backups; undefined: the service keeps none. */
function backupFigures({ backups, backupState }: Pick<Services, "backups" | "backupState">) {
  if (backups.place === undefined) return undefined;
  const { newest, duration, problem } = backupState();
  return {
    time: newest?.time ?? 0,
    size: newest?.size ?? 0,
    duration,
    isFailing: problem !== "",
  };
}
