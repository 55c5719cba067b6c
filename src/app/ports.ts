import type { Config } from "../config/config.ts";
import { watchFiles } from "../files/file-watch.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Front, type OpenFront, openFront } from "../transport/front.ts";
import type { Address } from "../transport/listen.ts";
import { endOf, readCredentials } from "./certificate.ts";

/** Remaining validity below which a certificate is logged as a warning: 14 days in milliseconds. */
const ENDS_SOON = 14 * 24 * 3600 * 1000;

/** Listening ports. Connections wait until the services exist. */
export interface Ports {
  readonly shared: OpenFront;
  /** Separate port of gRPC; undefined: shared. */
  readonly grpc: OpenFront | undefined;
  /** Stops watching the files of the certificate. */
  close(): void;
}

/**
 * Opens the ports, and reloads their credentials when a file changes.
 *
 * @param opened the shared port, if it is open already.
 * @throws Error naming the variable, when an address is taken or a certificate can't be used.
 */
export async function openPorts(
  config: Config,
  opened: OpenFront | undefined,
  log: Logger,
): Promise<Ports> {
  const shared = opened ?? (await openPort(config.listen, "MOORING_LISTEN", config));
  const grpc =
    config.grpcListen && (await openPort(config.grpcListen, "MOORING_GRPC_LISTEN", config));
  const fronts = [shared.front, ...(grpc === undefined ? [] : [grpc.front])];
  const endRenewing = renewCredentials(config, fronts, log);
  return { shared, grpc, close: () => endRenewing?.() };
}

function openPort(at: Address, variable: string, { socketMode, tls }: Config): Promise<OpenFront> {
  return openFront(at, { variable, socketMode, credentials: tls && readCredentials(tls) });
}

/** Reloads credentials when their files change. @returns a function that ends it. */
function renewCredentials(
  { tls }: Config,
  fronts: readonly Front[],
  log: Logger,
): (() => void) | undefined {
  if (tls === undefined) return undefined;
  let last = "";
  const renew = (): void => {
    try {
      const credentials = readCredentials(tls);
      const now = JSON.stringify(credentials);
      if (now === last) return;
      for (const front of fronts) front.renew?.(credentials);
      last = now;
      const until = endOf(credentials);
      const level = until < Date.now() + ENDS_SOON ? "warn" : "info";
      log[level]({ until: new Date(until).toISOString() }, "certificate read");
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      log.error({ reason }, "the new certificate cannot be used; the old one stays in use");
    }
  };
  const { certificate, key, clientAuthorities } = tls;
  const files = [certificate, key, ...(clientAuthorities === undefined ? [] : [clientAuthorities])];
  return watchFiles(files, renew).close;
}
