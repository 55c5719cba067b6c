import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { quote, reasonOf } from "../config/complaint.ts";
import type { Config } from "../config/config.ts";
import { errorText } from "../error-text.ts";
import { watchFiles } from "../files/file-watch.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Front, type OpenFront, openFront } from "../transport/front.ts";
import type { Address } from "../transport/listen.ts";
import type { Credentials } from "../transport/tls.ts";

/** Remaining validity below which a certificate is logged as a warning: 14 days in milliseconds. */
const EXPIRY_WARNING = 14 * 24 * 3600 * 1000;

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
      const level = until < Date.now() + EXPIRY_WARNING ? "warn" : "info";
      log[level]({ until: new Date(until).toISOString() }, "certificate read");
    } catch (error) {
      const reason = errorText(error);
      log.error({ reason }, "the new certificate cannot be used; the old one stays in use");
    }
  };
  const { certificate, key, clientAuthorities } = tls;
  const files = [certificate, key, ...(clientAuthorities === undefined ? [] : [clientAuthorities])];
  return watchFiles(files, renew).close;
}

/** Paths of the port's credentials, in PEM. */
interface CredentialFiles {
  readonly certificate: string;
  readonly key: string;
  /** Authorities of clients; undefined: clients need no certificate. */
  readonly clientAuthorities: string | undefined;
}

/** Maximum size of a file in bytes, three times that of a bundle of all public authorities. */
const MAX_FILE = 1024 * 1024;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Reads credentials and checks that they belong together.
 *
 * @throws Error naming the variable, the file and what is wrong; nothing of a file's content.
 */
export function readCredentials(files: CredentialFiles): Credentials {
  const certificate = sourceOf("MOORING_TLS_CERT_FILE", files.certificate);
  const privateKey = sourceOf("MOORING_TLS_KEY_FILE", files.key);
  const cert = readText(certificate, files.certificate);
  const key = readText(privateKey, files.key);
  const [own] = certificatesOf(certificate, cert);
  if (own?.checkPrivateKey(keyOf(privateKey, key)) !== true)
    throw new Error(`${privateKey} is not the key of the certificate in ${certificate}`);
  if (files.clientAuthorities === undefined) return { cert, key };
  const authorities = sourceOf("MOORING_TLS_CLIENT_CA_FILE", files.clientAuthorities);
  const ca = readText(authorities, files.clientAuthorities);
  certificatesOf(authorities, ca);
  return { cert, key, ca };
}

/** Expiry of the certificate, in milliseconds since 1970 UTC. */
function endOf({ cert }: Credentials): number {
  return Date.parse(new X509Certificate(cert).validTo);
}

function sourceOf(variable: string, path: string): string {
  return `${variable} ${quote(path)}`;
}

/** Reads regular files only: opening or reading a pipe could block. */
function readText(source: string, path: string): string {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = fstatSync(file);
    if (!facts.isFile()) throw new Error("is not a file");
    if (facts.size > MAX_FILE) throw new Error(`has more than ${MAX_FILE} bytes`);
    return readFileSync(file, "utf8");
  } catch (error) {
    const why =
      error instanceof Error && !("code" in error)
        ? error.message
        : `can't be read: ${reasonOf(error)}`;
    throw new Error(`${source} ${why}`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function certificatesOf(source: string, text: string): readonly X509Certificate[] {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error(`${source} contains no certificate in PEM format`);
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch {
      throw new Error(`${source} contains an invalid certificate (number ${index + 1})`);
    }
  });
}

function keyOf(source: string, text: string): KeyObject {
  if (/ENCRYPTED/.test(text))
    throw new Error(`${source} is encrypted with a passphrase: remove it with "openssl pkey"`);
  try {
    return createPrivateKey(text);
  } catch {
    throw new Error(`${source} contains no private key in PEM format`);
  }
}
