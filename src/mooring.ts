import { randomBytes } from "node:crypto";
import type { Address } from "./config/address.ts";
import type { Config } from "./config/config.ts";
import { createAria2Client } from "./downloader/aria2.ts";
import { createQbittorrentClient } from "./downloader/qbittorrent.ts";
import { createCors } from "./gateway/cors.ts";
import { createGateway } from "./gateway/gateway.ts";
import { bindContract, type Services } from "./rpc/contract.ts";
import { registerConnect } from "./rpc/door/connect.ts";
import { createGrpcServer } from "./rpc/door/grpc.ts";
import { addHealth, type Health } from "./rpc/door/health.ts";
import { addReflection, createReflection } from "./rpc/door/reflection.ts";
import { type Authenticate, createAdmission, publicMethods } from "./rpc/interceptor/auth.ts";
import { checkInterceptor } from "./rpc/interceptor/check.ts";
import { readyInterceptor } from "./rpc/interceptor/ready.ts";
import { reportInterceptor } from "./rpc/interceptor/report.ts";
import type { Method } from "./rpc/method.ts";
import { createRequestIds } from "./rpc/request-id.ts";
import { type Doors, openDoors } from "./server/doors.ts";
import { createHttpDoor } from "./server/http.ts";
import { type Logger, logCalls } from "./server/log.ts";
import { createBackupService } from "./service/backup/backup.ts";
import { createPassphraseCipher } from "./service/backup/passphrase.ts";
import { readBuiltIn } from "./service/driver/built-in.ts";
import { createDriverService } from "./service/driver/driver.ts";
import { openCatalogue } from "./service/driver/live-catalogue.ts";
import { createPublicService } from "./service/public.ts";
import { createFingerprint } from "./service/secret/fingerprint.ts";
import { createSealer } from "./service/secret/sealer.ts";
import { loadSettingDefinitions } from "./service/setting/definition.ts";
import { createEngine, type Engine } from "./service/setting/engine.ts";
import { createFeed } from "./service/setting/feed.ts";
import { createHistory } from "./service/setting/history.ts";
import { createSettingService } from "./service/setting/setting.ts";
import { startSettings } from "./service/setting/start.ts";
import { TOKEN_KEY, tokenEquals } from "./service/setting/token.ts";
import type { SettingStore } from "./store/setting-store.ts";
import { makeFolder } from "./store/sqlite.ts";
import { openSqliteSettingStore } from "./store/sqlite-setting-store.ts";

/** How often another process's changes are looked for when no call asks, in milliseconds. */
const REFRESH_INTERVAL = 100;
/** How often a watcher hears that nothing has changed, in milliseconds. */
const BOOKMARK_INTERVAL = 15_000;
/** How often a failure that goes on is logged, in milliseconds. */
const REPORT_INTERVAL = 10_000;

export interface MooringDeps {
  readonly log: Logger;
  /** The program's version, such as `v0.1.0`. */
  readonly version: string;
  /** Shows the token that the first start has made: the only time that anybody sees it. */
  readonly showToken: (token: string) => void;
}

/** A running service. */
export interface Mooring {
  /** Where it listens; with the real port where port 0 was asked for. */
  readonly address: Address;
  /** The address of gRPC: its own, or the shared one. */
  readonly grpcAddress: Address;
  /**
   * Ends it: health turns NOT_SERVING, nothing new is accepted, calls in flight finish within the
   * grace time, then the database is closed.
   */
  stop(): Promise<void>;
}

/** What stands behind the contract once the program has started. */
interface Started extends Services {
  readonly authenticate: Authenticate;
  readonly databaseId: string;
  /** Ends every stream with UNAVAILABLE: they would never end by themselves. */
  endStreams(): void;
  close(): Promise<void>;
}

/**
 * Starts the service: the wiring, top to bottom. It listens first, so that `/ping` answers while
 * the database is opened; every other call is UNAVAILABLE until then.
 *
 * @throws Error with a sentence for the person who runs the site, when it cannot start.
 */
export async function startMooring(config: Config, deps: MooringDeps): Promise<Mooring> {
  const { log } = deps;
  let started: Started | undefined;
  const services = (): Started => {
    if (started === undefined) throw new Error("a call came before the start had ended");
    return started;
  };
  const admission = createAdmission((token) => services().authenticate(token));
  const methods = bindContract(services, [
    reportInterceptor(logCalls(log), () => performance.now()),
    readyInterceptor(() => started !== undefined),
    checkInterceptor(admission),
  ]);
  const reflect = createReflection(methods);
  const requestId = createRequestIds(randomBytes(6).toString("base64url"));
  const cors = createCors({ origins: config.corsOrigins });
  const gateway = createGateway({
    methods,
    httpStatus: config.httpStatus,
    cors,
    cacheControl: (desc) => (publicMethods.has(desc) ? "public, no-cache" : "private, no-store"),
    etagPrefix: () => `${services().databaseId}-`,
    // Before the start has ended there is nothing to compare a token with.
    admit: (desc, call) => (started === undefined ? undefined : admission(desc)?.(call)),
    report: (error, { requestId }) => log.error({ err: error, requestId }, "request failed"),
  });
  const http = createHttpDoor({ requestId, gateway, cors });
  await registerConnect(http.fastify, { methods, reflect });
  const grpc = createGrpcServer({ methods, requestId });
  addReflection(grpc, reflect);
  const health = addHealth(grpc, serviceNames(methods));
  const doors = await openDoors({
    http,
    grpc,
    listen: config.listen,
    grpcListen: config.grpcListen,
  });
  try {
    started = await startServices(config, deps);
  } catch (error) {
    await doors.close(0);
    throw error;
  }
  health.set("SERVING");
  return {
    address: doors.address,
    grpcAddress: doors.grpcAddress,
    stop: () => stop({ health, doors, started, grace: config.shutdownGraceMs }),
  };
}

async function stop(parts: {
  readonly health: Health;
  readonly doors: Doors;
  readonly started: Started | undefined;
  readonly grace: number;
}): Promise<void> {
  parts.health.set("NOT_SERVING");
  parts.started?.endStreams();
  await parts.doors.close(parts.grace);
  await parts.started?.close();
}

function serviceNames(methods: readonly Method[]): string[] {
  return [...new Set(methods.map((method) => method.desc.parent.typeName))];
}

async function startServices(config: Config, deps: MooringDeps): Promise<Started> {
  const { log } = deps;
  const drivers = await openCatalogue({
    builtIn: readBuiltIn(),
    directory: config.driversDir,
    enabled: config.driversEnabled,
    onError: (error) => log.error({ reason: error.message }, "the driver folder is wrong"),
    onNotice: (message) => log.info(message),
  });
  const store = await openStore(config).catch((error: unknown) => {
    drivers.close();
    throw error;
  });
  const close = async (): Promise<void> => {
    drivers.close();
    await store.close();
  };
  try {
    const services = await connectSettings(config, { ...deps, store });
    const { engine } = services;
    const stopping = new AbortController();
    const timer = setInterval(() => void refresh(engine, log), REFRESH_INTERVAL).unref();
    return {
      ...services,
      databaseId: store.databaseId,
      drivers: createDriverService({ live: drivers, stopping: stopping.signal }),
      endStreams: () => {
        stopping.abort();
        services.feed.close();
      },
      authenticate: authenticateBy(engine),
      close: () => {
        clearInterval(timer);
        return close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function openStore({ database, dataDir }: Config): Promise<SettingStore> {
  makeFolder(dataDir);
  return openSqliteSettingStore(database.filename);
}

async function refresh(engine: Engine, log: Logger): Promise<void> {
  try {
    await engine.fresh();
  } catch (error) {
    log.error({ err: error }, "the database's changes cannot be read");
  }
}

/** All services of settings, on one engine. */
async function connectSettings(
  config: Config,
  { store, log, version, showToken }: MooringDeps & { readonly store: SettingStore },
) {
  const definitions = loadSettingDefinitions();
  const fingerprint = createFingerprint(store.fingerprintKey);
  const engine = await createEngine({
    store,
    definitions,
    sealer: createSealer(config.secretKeys),
    fingerprint,
    now: Date.now,
    onReadFailure: throttle(REPORT_INTERVAL, (error) =>
      log.warn({ err: error }, "the database cannot be read; reads are served from memory"),
    ),
  });
  const { revision } = engine.snapshot();
  const feed = createFeed({ store, revision, idle: BOOKMARK_INTERVAL });
  engine.listen(feed);
  const token = await startSettings(engine, {
    version,
    adminToken: config.adminToken,
    randomBytes,
  });
  if (token !== undefined) showToken(token);
  const managedBy = (): undefined => undefined;
  const history = createHistory({ store, engine });
  const definitionOf = new Map(definitions.map((definition) => [definition.key, definition]));
  return {
    engine,
    feed,
    history,
    definitionOf: (key: string) => definitionOf.get(key),
    publicReads: createPublicService({ engine }),
    settings: createSettingService({
      engine,
      store,
      history,
      fingerprint,
      managedBy,
      aria2: createAria2Client(),
      qbittorrent: createQbittorrentClient(),
      randomBytes,
    }),
    backup: createBackupService({
      engine,
      cipher: createPassphraseCipher(randomBytes),
      databaseId: store.databaseId,
      now: Date.now,
      managedBy,
    }),
  };
}

/** Calls at most once an interval, in milliseconds: what fails at every call is said once. */
function throttle<T>(interval: number, act: (value: T) => void): (value: T) => void {
  let last = Number.NEGATIVE_INFINITY;
  return (value) => {
    const now = performance.now();
    if (now - last < interval) return;
    last = now;
    act(value);
  };
}

/** Compares with the token at the newest revision of any process on this database. */
function authenticateBy(engine: Engine): Authenticate {
  const nameOf = (stored: string | undefined, sent: string): string | undefined =>
    tokenEquals(stored ?? "", sent) ? "admin" : undefined;
  return (sent) => {
    const snapshot = engine.fresh();
    return snapshot instanceof Promise
      ? snapshot.then((fresh) => nameOf(fresh.get(TOKEN_KEY)?.value, sent))
      : nameOf(snapshot.get(TOKEN_KEY)?.value, sent);
  };
}
