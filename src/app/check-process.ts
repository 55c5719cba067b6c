// The process that checks a backup: see process-check.ts.
import { buffer } from "node:stream/consumers";
import type { DeriveKey } from "../archive/passphrase.ts";
import { type CheckedBackup, checkContent } from "../backups/check.ts";
import { parseConfig } from "../config/config.ts";
import { openEmptyArchive } from "./empty-archive.ts";
import type { CheckConfig } from "./process-check.ts";

/** Reads a request from standard input, and writes the result to standard output. */
export async function runCheckProcess(): Promise<void> {
  const input = await buffer(process.stdin);
  const end = input.indexOf("\n");
  const { needed, passphrase } = JSON.parse(input.subarray(0, end).toString("utf8")) as {
    readonly needed: Partial<CheckConfig>;
    readonly passphrase: string;
  };
  const checked = await checkInProcess(input.subarray(end + 1), passphrase, needed);
  process.stdout.write(JSON.stringify(checked));
}

/** Checks a backup in this process, for commands. */
export async function checkInProcess(
  content: Uint8Array,
  passphrase: string,
  needed: Partial<CheckConfig> = {},
  deriveKey?: DeriveKey,
): Promise<CheckedBackup> {
  const parsed = parseConfig({
    args: [],
    env: {},
    cwd: process.cwd(),
    parallelism: 1,
    readFile: () => "",
  });
  if (parsed.kind !== "config") throw new Error("the default configuration is invalid");
  const { archive, close } = await openEmptyArchive({ ...parsed.config, ...needed }, deriveKey);
  try {
    return await checkContent(content, passphrase, archive);
  } finally {
    await close();
  }
}
