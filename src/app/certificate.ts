import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { quote, reasonOf } from "../config/complaint.ts";
import type { Credentials } from "../transport/tls.ts";

/** Paths of the port's credentials, in PEM. */
export interface CredentialFiles {
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
export function endOf({ cert }: Credentials): number {
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
