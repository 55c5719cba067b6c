import { setTimeout as sleep } from "node:timers/promises";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/source.ts";
import type { Services } from "../rpc/contract.ts";

/** Where a command reads from: `process.stdin`, or any stream of a test. */
export type InputStream = NodeJS.ReadableStream & { readonly isTTY?: boolean | undefined };

/** Where a command writes to. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean | undefined;
  /** Width of the terminal in characters. */
  readonly columns?: number | undefined;
};

/** The settings of a database that no service has to serve. */
export interface OfflineSettings extends Pick<Services, "settings" | "history" | "backup"> {
  close(): Promise<void>;
}

/**
 * Opens the database of a configuration without listening anywhere.
 *
 * @throws Error with a sentence for a person when the database can't be used.
 */
export type OpenOffline = (config: Config) => Promise<OfflineSettings>;

/** Everything that a command knows of the world outside. */
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
  /** Milliseconds since 1970 UTC. */
  readonly now: () => number;
  /** From 0 to below 1. */
  readonly random: () => number;
  /** Resolves after so many milliseconds, or at once when the signal is aborted. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Calls the listener at Ctrl-C or SIGTERM. @returns a function that ends this. */
  readonly onInterrupt: (listener: () => void) => () => void;
}

/** The world of this process. */
export function processWorld(openOffline: OpenOffline): World {
  return {
    args: process.argv.slice(2),
    env: process.env,
    cwd: process.cwd(),
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    openOffline,
    now: Date.now,
    random: Math.random,
    pause: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
    onInterrupt: (listener) => {
      process.once("SIGINT", listener).once("SIGTERM", listener);
      return () => process.off("SIGINT", listener).off("SIGTERM", listener);
    },
  };
}
