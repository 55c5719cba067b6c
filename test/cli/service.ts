import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { programVersion } from "../../src/app/version.ts";
import type { DeriveKey } from "../../src/archive/passphrase.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import { startService as startMooring } from "../wire/service.ts";
import { type Ended, type RunOptions, run } from "./world.ts";

export const TOKEN = "token-of-the-tests-0123456789abcdef";

/** A service in this process, on a database of its own. */
export interface Service {
  readonly address: string;
  /** Folder of the database and of files of the test. */
  readonly folder: string;
  /** The database's file. */
  readonly database: string;
  /** Environment that commands need for the service. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command against the service, in this process. */
  readonly cli: (args: readonly string[], options?: RunOptions) => Promise<Ended>;
  /** Number of the newest revision. */
  newest(): Promise<number>;
  /** Stops the service; the folder is kept. */
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Stops the service and removes its folder. */
  remove(): Promise<void>;
}

/** The service of a file that calls `useService`. */
export let service: Service;

/** Runs a command against it. */
export const cli: Service["cli"] = (args, options) => service.cli(args, options);

/** Adds a server as a site of it. */
export const addSite = (name: string, site: { readonly url: string; token(): string }) =>
  cli(["site", "add", name, site.url, "--site-token-file", "-"], { stdin: site.token() });

/** Starts a service before the tests of a file, and removes it after them. */
export function useService(env?: Record<string, string>): void {
  beforeAll(async () => {
    service = await startService(env);
  });
  afterAll(() => service.remove());
}

/**
 * Starts a service on a free port.
 *
 * @param deriveKey derivation of keys of archives, here and in its commands; default: without scrypt.
 */
export async function startService(
  env: Record<string, string> = {},
  deriveKey?: DeriveKey,
): Promise<Service> {
  const folder = newDatabaseFolder();
  const open = (listen: string) =>
    startMooring({
      folder,
      // Commands on the database file write it themselves.
      version: programVersion(),
      deriveKey,
      env: { MOORING_ADMIN_TOKEN: TOKEN, ...env, MOORING_LISTEN: listen },
    });
  let running = await open("127.0.0.1:0");
  const address = `127.0.0.1:${running.port}`;
  const clientEnv = { MOORING_ADDRESS: address, MOORING_TOKEN: TOKEN };
  const stop = () => running.stop();
  const cli: Service["cli"] = (args, options = {}) =>
    run(args, { cwd: folder, deriveKey, ...options, env: { ...clientEnv, ...options.env } });
  return {
    address,
    folder,
    database: join(folder, "mooring.db"),
    env: clientEnv,
    cli,
    newest: async () => Number(JSON.parse((await cli(["list", "--json"])).out).revision),
    stop,
    start: async () => {
      running = await open(address);
    },
    remove: async () => {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
