import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "./config/address.ts";
import type { Config } from "./config/config.ts";
import { createCors } from "./gateway/cors.ts";
import { createGateway } from "./gateway/gateway.ts";
import { bindContract, type Services } from "./rpc/contract.ts";
import { registerConnect } from "./rpc/door/connect.ts";
import { createConnectUnary } from "./rpc/door/connect-unary.ts";
import { createGrpcServer } from "./rpc/door/grpc.ts";
import { createGrpcUnary } from "./rpc/door/grpc-unary.ts";
import { createHealth, type Health } from "./rpc/door/health.ts";
import { addReflection, createReflection } from "./rpc/door/reflection.ts";
import { type Authenticate, createAdmission, publicMethods } from "./rpc/interceptor/auth.ts";
import { checkInterceptor } from "./rpc/interceptor/check.ts";
import { readyInterceptor } from "./rpc/interceptor/ready.ts";
import { type CallReport, reportInterceptor } from "./rpc/interceptor/report.ts";
import type { Method } from "./rpc/method.ts";
import { createRequestIds } from "./rpc/request-id.ts";
import { type Doors, openDoors } from "./server/doors.ts";
import { type OpenFront, openFront } from "./server/front.ts";
import { createHttpDoor } from "./server/http.ts";
import { type Logger, logCalls } from "./server/log.ts";
import { readBuiltIn } from "./service/driver/built-in.ts";
import { createDriverService } from "./service/driver/driver.ts";
import { openCatalogue } from "./service/driver/live-catalogue.ts";
import type { Engine } from "./service/setting/engine.ts";
import { TOKEN_KEY, tokenEquals } from "./service/setting/token.ts";
import { startSettingServices } from "./settings.ts";
import type { SettingStore } from "./store/setting-store.ts";
import { makeFolder } from "./store/sqlite.ts";
import { openSqliteSettingStore } from "./store/sqlite-setting-store.ts";

/** How often another process's changes are looked for when no call asks, in milliseconds. */
const REFRESH_INTERVAL = 100;

export interface MooringDeps {
  /** The port, where it listens already; undefined: it is opened here. */
  readonly front?: OpenFront;
  readonly log: Logger;
  /** Told of every call when it has ended, besides the log. */
  readonly onCall?: (report: CallReport) => void;
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

/** How long calls that come during the start are kept waiting, in milliseconds. */
const PATIENCE = 1_000;

/** A failure that is looked at elsewhere. */
function ignore(): void {}

/**
 * Starts the service: the wiring, top to bottom. It listens first, so that `/ping` answers while
 * the database is opened; every other call waits for a moment, and is UNAVAILABLE when that is too
 * short.
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
  const logCall = logCalls(log);
  const report = (ended: CallReport): void => {
    logCall(ended);
    deps.onCall?.(ended);
  };
  const methods = bindContract(services, [
    reportInterceptor(report, () => performance.now()),
    readyInterceptor(() => started !== undefined),
    checkInterceptor(admission),
  ]);
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
    refused: (error, desc, call) => report({ desc, call, duration: 0, error }),
    report: (error, { requestId }) => log.error({ err: error, requestId }, "request failed"),
  });
  const health = createHealth(serviceNames(methods));
  const served = [...methods, ...health.methods];
  const vary = cors.varies ? ["Vary", "Origin"] : [];
  const connect = createConnectUnary({
    methods: served,
    headers: (origin) => [...cors.headers(origin), ...vary],
  });
  const http = createHttpDoor({ requestId, connect, gateway, cors });
  const reflect = createReflection(served);
  await registerConnect(http.fastify, { methods: served, reflect });
  const grpc = {
    server: createGrpcServer({ methods: served, requestId }),
    unary: createGrpcUnary({ methods: served, requestId }),
  };
  addReflection(grpc.server, reflect);
  const { front, address } = deps.front ?? (await openFront(config.listen));
  const starting = startServices(config, deps).then((ready) => {
    started = ready;
  });
  await Promise.race([starting.catch(ignore), sleep(PATIENCE, undefined, { ref: false })]);
  const doors = await openDoors({ http, grpc, front, grpcListen: config.grpcListen }).catch(
    async (error: unknown) => {
      await starting.catch(ignore);
      await started?.close();
      throw error;
    },
  );
  try {
    await starting;
  } catch (error) {
    await doors.close(0);
    throw error;
  }
  health.set("SERVING");
  return {
    address,
    grpcAddress: doors.grpcAddress ?? address,
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
  parts.health.close();
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
    const services = await startSettingServices(config, { ...deps, store });
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
      close: async () => {
        clearInterval(timer);
        await services.close();
        await close();
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
