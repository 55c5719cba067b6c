import { rm } from "node:fs/promises";
import { join } from "node:path";
import { programVersion } from "../../src/app/version.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import { startService as startMooring } from "../wire/service.ts";
import { type Ended, type Given, run } from "./world.ts";

export const TOKEN = "token-of-the-tests-0123456789abcdef";

/** A service in this process, on a database of its own. */
export interface Service {
  readonly address: string;
  /** Holds the database and whatever a test puts there. */
  readonly folder: string;
  /** The database's file. */
  readonly database: string;
  /** What a command needs to know of the service. */
  readonly env: Readonly<Record<string, string>>;
  /** Runs a command against it, in this process. */
  readonly cli: (args: readonly string[], given?: Given) => Promise<Ended>;
  /** Ends the service; the folder stays. */
  stop(): Promise<void>;
  /** Starts it again at the same address. */
  start(): Promise<void>;
  /** Ends the service and removes its folder. */
  remove(): Promise<void>;
}

/** Starts a service on a free port. */
export async function startService(env: Record<string, string> = {}): Promise<Service> {
  const folder = newDatabaseFolder();
  const open = (listen: string) =>
    startMooring({
      folder,
      // Commands on the database's file write their own.
      version: programVersion(),
      env: { MOORING_ADMIN_TOKEN: TOKEN, ...env, MOORING_LISTEN: listen },
    });
  let running = await open("127.0.0.1:0");
  const address = `127.0.0.1:${running.port}`;
  const clientEnv = { MOORING_ADDRESS: address, MOORING_TOKEN: TOKEN };
  const stop = () => running.stop();
  return {
    address,
    folder,
    database: join(folder, "mooring.db"),
    env: clientEnv,
    cli: (args, given = {}) =>
      run(args, { cwd: folder, ...given, env: { ...clientEnv, ...given.env } }),
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
