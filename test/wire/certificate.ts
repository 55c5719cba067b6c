import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** A certificate and its key, as paths of PEM files. */
export interface Pair {
  readonly certificate: string;
  readonly key: string;
}

/** An authority of a test. */
export interface Authority extends Pair {
  /** Makes a certificate; default names: `localhost` and its address. */
  issue(name: string, options?: { readonly days?: number; readonly names?: string }): Promise<Pair>;
  /** The folder of all files. */
  readonly folder: string;
  remove(): Promise<void>;
}

/** Makes an authority with the openssl program. */
export async function makeAuthority(): Promise<Authority> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-authority-"));
  const at = (name: string): string => join(folder, name);
  const openssl = (line: string) => promisify(execFile)("openssl", line.split(" "));
  const curve = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc";
  const own = { certificate: at("authority.pem"), key: at("authority.key") };
  await openssl(
    `req -x509 ${curve} -days 2 -subj /CN=Tests -keyout ${own.key} -out ${own.certificate}`,
  );
  return {
    ...own,
    folder,
    issue: async (name, { days = 30, names = "DNS:localhost,IP:127.0.0.1" } = {}) => {
      const pair = { certificate: at(`${name}.pem`), key: at(`${name}.key`) };
      const request = at(`${name}.csr`);
      const extensions = at(`${name}.ext`);
      await writeFile(extensions, `subjectAltName=${names}\n`);
      await openssl(`req ${curve} -subj /CN=${name} -keyout ${pair.key} -out ${request}`);
      await openssl(
        `x509 -req -in ${request} -CA ${own.certificate} -CAkey ${own.key} -CAcreateserial -days ${days} -extfile ${extensions} -out ${pair.certificate}`,
      );
      return pair;
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}
