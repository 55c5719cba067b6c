import { PassThrough, Writable } from "node:stream";
import { checkInProcess } from "../../src/app/check-process.ts";
import { databases } from "../../src/app/database.ts";
import { openOffline } from "../../src/app/offline.ts";
import type { DeriveKey } from "../../src/archive/passphrase.ts";
import { runCli } from "../../src/cli/cli.ts";
import type { OutputStream, World } from "../../src/cli/world.ts";
import { quickKey } from "../archive/text.ts";

/** Options of a command run; default: an empty environment and no terminal. */
export interface RunOptions {
  readonly env?: Record<string, string | undefined>;
  readonly cwd?: string;
  /** All of standard input. */
  readonly stdin?: string | Buffer;
  /** Width of the terminal of all streams; absent: no terminal. */
  readonly terminal?: number;
  /** Typed lines, one for each prompt; a function runs before its answer. */
  readonly answers?: readonly (string | (() => Promise<string>))[];
  readonly world?: Partial<World>;
  /** Derivation of keys of archives; default: without scrypt. */
  readonly deriveKey?: DeriveKey | undefined;
}

/** Output and files of a finished command. */
export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command to its end. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const { world, ended } = start(args, options);
  return ended(await runCli(world));
}

/** The world of a command before its run. */
export function start(args: readonly string[], options: RunOptions = {}) {
  const { env = {}, cwd = process.cwd(), stdin = "", terminal, answers = [] } = options;
  const { deriveKey = quickKey } = options;
  const out: string[] = [];
  const err: string[] = [];
  const input = Object.assign(new PassThrough(), { isTTY: terminal !== undefined });
  if (terminal === undefined) input.end(stdin);
  const remaining = [...answers];
  // Answers each prompt.
  const onPrompt = async (text: string): Promise<void> => {
    if (!/(: |\] )$/.test(text)) return;
    const answer = remaining.shift() ?? "\x04";
    input.write(`${typeof answer === "string" ? answer : await answer()}\n`);
  };
  const world: World = {
    args,
    env: { NO_COLOR: "1", ...env },
    cwd,
    stdin: input,
    stdout: collector(out, terminal),
    stderr: collector(err, terminal, onPrompt),
    openOffline: (config) => openOffline(config, deriveKey),
    databases,
    checkBackup: (content, passphrase) => checkInProcess(content, passphrase, {}, deriveKey),
    now: Date.now,
    random: () => 0.5,
    pause: async () => undefined,
    openUrl: async () => false,
    onInterrupt: () => () => undefined,
    ...options.world,
  };
  const ended = (code: number): Ended => ({ code, out: out.join(""), err: err.join("") });
  return { world, ended, out, err };
}

/** A stream that records its output. */
export function collector(
  parts: string[],
  columns?: number,
  onText: (text: string) => unknown = () => undefined,
): OutputStream {
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      parts.push(String(chunk));
      onText(String(chunk));
      done();
    },
  });
  return Object.assign(stream, columns === undefined ? {} : { isTTY: true, columns });
}

/** A stream whose reader has gone. */
export function closedPipe(): OutputStream {
  return new Writable({
    write: (_chunk, _encoding, done) =>
      done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
  });
}
