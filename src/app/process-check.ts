// The check of a backup in a process of its own: reading and planning a whole site takes seconds and
// much memory, which the service needs for its calls.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { constants, setPriority } from "node:os";
import type { CheckContent, CheckedBackup } from "../backups/check.ts";
import type { Config } from "../config/config.ts";
import { errorText } from "../error-text.ts";
import { unavailable } from "../messages/error.ts";
import { message, reviveText } from "../messages/message.ts";
import { MAIN } from "./main-file.ts";

/** Argument of the program that runs `runCheckProcess`; `src/main.ts` has it too. */
const CHECK_ARGUMENT = "--check-backup-process";

/** Members of the configuration that decide what can be restored. */
const NEEDED = [
  "family",
  "driversDir",
  "driversEnabled",
  "maxValue",
  "maxCustomSettings",
  "maxSettings",
  "maxPublicSettings",
] as const;
/** The part of the configuration that a check needs. */
export type CheckConfig = Pick<Config, (typeof NEEDED)[number]>;

/** A larger young generation than that of the service: a fifth less processor time. */
const FLAGS = ["--min-semi-space-size=32"];

/** Time limit of a check, in milliseconds. */
const LIMIT = 300_000;
/** Maximum size of its result, in bytes. */
const MAX_RESULT = 16 * 1024 * 1024;

/** The part of a configuration that a check needs. */
export function checkConfigOf(config: CheckConfig): Partial<CheckConfig> {
  return Object.fromEntries(NEEDED.map((name) => [name, config[name]]));
}

/** Checks backups in a process of its own with the drivers and bounds of the service. */
export function createProcessCheck(config: CheckConfig): CheckContent {
  const needed = checkConfigOf(config);
  return async (content, passphrase, signal) => {
    const child = spawn(process.execPath, [...FLAGS, MAIN, CHECK_ARGUMENT], {
      // The secrets of the service are in its environment.
      env: Object.fromEntries(
        Object.entries(process.env).filter(([name]) => !name.startsWith("MOORING_")),
      ),
      stdio: ["pipe", "pipe", "ignore"],
      signal,
      timeout: LIMIT,
      killSignal: "SIGKILL",
    });
    const ended = once(child, "close");
    // It must not take the time of calls.
    if (child.pid !== undefined) lowerPriority(child.pid);
    child.stdin.on("error", () => undefined);
    child.stdin.write(`${JSON.stringify({ needed, passphrase })}\n`);
    child.stdin.end(content);
    try {
      const [result, [code]] = await Promise.all([readResult(child.stdout), ended]);
      if (code !== 0) throw new Error(`exit code ${code}`);
      return JSON.parse(result.toString("utf8"), reviveText) as CheckedBackup;
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(message("BACKUP_CHECK_FAILED", { reason: errorText(error) }), error);
    } finally {
      child.kill("SIGKILL");
    }
  };
}

async function readResult(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > MAX_RESULT) throw new Error(`more than ${MAX_RESULT} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // It has ended, or the system refuses it.
  }
}
