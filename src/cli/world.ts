import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { Transport } from "@connectrpc/connect";
import type { CheckedBackup } from "../backups/check.ts";
import type { Config, Environment } from "../config/config.ts";
import type { Database } from "../config/database.ts";

/** Variables that only the commands read. The service accepts and ignores them. */
export const cliVariables = [
  "MOORING_ADDRESS",
  "MOORING_TOKEN",
  "MOORING_TOKEN_FILE",
  "MOORING_PASSPHRASE",
  "MOORING_CLIENT_CERT_FILE",
  "MOORING_CLIENT_KEY_FILE",
] as const;

/** Input of a command: `process.stdin`, or any stream of a test. */
type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };

/** Output of a command. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal in characters. */
  readonly columns?: number | undefined;
};

/** Database opened without a service: the contract's methods, in this process. */
export interface Offline {
  readonly transport: Transport;
  close(): Promise<void>;
}

/**
 * Opens the database of a configuration without listening anywhere.
 *
 * @throws Error with a message for the operator when the database can't be used.
 */
export type OpenOffline = (config: Config) => Promise<Offline>;

/** Works on databases as a whole. */
export interface Databases {
  /**
   * Copies everything into an empty database.
   *
   * @param options.isDry only counts.
   * @returns the rows of each table.
   * @throws Error with a message for the operator.
   */
  copy(
    from: Database,
    to: Database,
    options: {
      readonly isDry: boolean;
      readonly onProgress: (of: { readonly table: string; readonly copied: number }) => void;
    },
  ): Promise<readonly { readonly table: string; readonly copied: number }[]>;
  /** @returns the problems found, one sentence each. @throws Error with the problem. */
  check(database: Database): Promise<readonly string[]>;
}

/** Checks a backup as a restore into an empty service would read it. */
export type CheckBackupFile = (content: Uint8Array, passphrase: string) => Promise<CheckedBackup>;

/** Access of a command to the outside. */
export interface World {
  /** The command line after `mooring`, the command's name first. */
  readonly args: readonly string[];
  readonly env: Environment;
  /** Absolute path that relative paths start from. */
  readonly cwd: string;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly openOffline: OpenOffline;
  readonly databases: Databases;
  readonly checkBackup: CheckBackupFile;
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Resolves after `ms` milliseconds, or at once when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Opens an address in the browser of this machine. @returns whether a browser was started. */
  readonly openUrl: (url: string) => Promise<boolean>;
  /** Calls the listener at Ctrl-C or SIGTERM. @returns a function that ends this. */
  readonly onInterrupt: (listener: () => void) => () => void;
}

/** Creates the world of this process. */
export function processWorld(
  openOffline: OpenOffline,
  databases: Databases,
  checkBackup: CheckBackupFile,
): World {
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    openOffline,
    databases,
    checkBackup,
    now: Date.now,
    random: Math.random,
    pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    openUrl,
    onInterrupt: (listener) => {
      process.once("SIGINT", listener).once("SIGTERM", listener);
      return () => process.off("SIGINT", listener).off("SIGTERM", listener);
    },
  };
}

/** Programs that open an address, by `process.platform`. */
const OPENERS: Readonly<Record<string, string>> = { darwin: "open", win32: "explorer" };

async function openUrl(url: string): Promise<boolean> {
  const child = spawn(OPENERS[process.platform] ?? "xdg-open", [url], {
    detached: true,
    stdio: "ignore",
  });
  child.unref();
  return await once(child, "spawn").then(
    () => true,
    () => false,
  );
}
