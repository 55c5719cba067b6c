import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A self-signed certificate for 127.0.0.1. */
export interface Certificate {
  /** PEM file. */
  readonly certificate: string;
  /** PEM file. */
  readonly privateKey: string;
  /** Text of the certificate, for the list of trusted ones. */
  readonly pem: string;
  /** Removes the files. */
  remove(): Promise<void>;
}

/** Makes a self-signed certificate for 127.0.0.1 with the openssl program. */
export async function makeCertificate(): Promise<Certificate> {
  const folder = await mkdtemp(join(tmpdir(), "certificate-"));
  const certificate = join(folder, "certificate.pem");
  const privateKey = join(folder, "key.pem");
  const options = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 2";
  const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"];
  await promisify(execFile)("openssl", [
    ...options.split(" "),
    ...subject,
    "-keyout",
    privateKey,
    "-out",
    certificate,
  ]);
  const pem = await readFile(certificate, "utf8");
  const remove = () => rm(folder, { recursive: true, force: true });
  return { certificate, privateKey, pem, remove };
}
