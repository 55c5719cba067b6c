// Derivation of a key in a process of its own: scrypt takes 128 MiB, which the service would keep.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type DeriveKey, deriveKey } from "../archive/passphrase.ts";
import { MAIN } from "./main-file.ts";

/** Argument of the program; `src/main.ts` has it too. */
const ARGUMENT = "--derive-key-process";
/** Memory of a derivation above which it gets a process, in bytes. */
const LARGE = 32 * 2 ** 20;

/** Derives a key in a process of its own if that takes much memory. */
export const deriveKeyApart: DeriveKey = async (passphrase, salt, cost) => {
  if (128 * cost.n * cost.r <= LARGE) return deriveKey(passphrase, salt, cost);
  const child = spawn(process.execPath, [MAIN, ARGUMENT], {
    // The secrets of the service are in its environment.
    env: {},
    stdio: ["pipe", "pipe", "ignore"],
  });
  try {
    const ended = once(child, "close");
    child.stdin.on("error", () => undefined);
    child.stdin.end(JSON.stringify({ passphrase, salt: salt.toString("base64"), cost }));
    const [key] = await Promise.all([text(child.stdout), ended]);
    if (/^[0-9a-f]{64}$/.test(key)) return Buffer.from(key, "hex");
  } catch {
    // The system allows no further process.
  } finally {
    child.kill("SIGKILL");
  }
  return deriveKey(passphrase, salt, cost);
};

/** Reads a request from standard input, and writes the key to standard output. */
export async function runKeyProcess(): Promise<void> {
  const { passphrase, salt, cost } = JSON.parse(await text(process.stdin)) as {
    readonly passphrase: string;
    readonly salt: string;
    readonly cost: Parameters<DeriveKey>[2];
  };
  const key = await deriveKey(passphrase, Buffer.from(salt, "base64"), cost);
  process.stdout.write(key.toString("hex"));
}
