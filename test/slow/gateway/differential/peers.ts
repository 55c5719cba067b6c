import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { cp, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { developmentProgram } from "../../../../tools/development.ts";
import { quickGo } from "../../../go.ts";

const folder = import.meta.dirname;
const root = join(folder, "../../../..");
const protos = join(root, "proto/google/api");
const env = { ...process.env, ...quickGo };

/** Call that reached the upstream of a gateway. */
export interface Reached {
  /** The rpc's name. */
  readonly method: string;
  /** The request message in binary. */
  readonly message: Uint8Array;
}

/** A reply to one request. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: Buffer;
  /** Undefined: the request was refused before. */
  readonly reached: Reached | undefined;
}

/** The replies of both peers. */
export interface Answers {
  readonly gateway: Answer;
  readonly vanguard: Answer;
}

/** grpc-gateway and vanguard in a process. */
export interface Peers {
  /** @param request its bytes (RFC 9112). */
  ask(request: Buffer): Promise<Answers>;
  close(): void;
}

async function run(command: string, ...args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, args, { cwd: folder, env, maxBuffer: 64 * 2 ** 20 });
}

/**
 * Builds the program of the peers and the descriptors of the contract.
 *
 * @returns the path of the descriptors, a FileDescriptorSet.
 */
export async function buildPeers(): Promise<string> {
  const api = join(folder, "build/proto/google/api");
  await mkdir(api, { recursive: true });
  for (const name of ["annotations", "http", "httpbody"])
    await cp(join(protos, `${name}.proto`), join(api, `${name}.proto`));
  await cp(join(folder, "proto/peer"), join(folder, "build/proto/peer"), { recursive: true });
  await mkdir(join(folder, "build/bin"), { recursive: true });
  await run("go", "build", "-o", "build/bin/", "tool");
  await run(developmentProgram("buf"), "generate", "build/proto", "--path", "build/proto/peer");
  await run("go", "build", "-o", "build/peers", ".");
  const descriptors = join(folder, "build/contract.binpb");
  await run(developmentProgram("buf"), "build", "build/proto", "-o", descriptors);
  return descriptors;
}

/** Starts the peers; requests are answered in sequence. */
export function startPeers(): Peers {
  const child: ChildProcessWithoutNullStreams = spawn(join(folder, "build/peers"), { env });
  child.stderr.resume();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    ask: async (request) => {
      child.stdin.write(`${JSON.stringify({ request: request.toString("base64") })}\n`);
      const { value, done } = await lines.next();
      if (done === true) throw new Error(`the peers have ended at ${request}`);
      const { gateway, vanguard } = JSON.parse(value) as Record<"gateway" | "vanguard", Encoded>;
      return { gateway: decode(gateway), vanguard: decode(vanguard) };
    },
    close: () => child.kill(),
  };
}

interface Encoded {
  readonly status: number;
  readonly type: string;
  readonly body: string | null;
  readonly reached?: { readonly method: string; readonly message: string | null };
}

function decode({ status, type, body, reached }: Encoded): Answer {
  return {
    status,
    type,
    body: Buffer.from(body ?? "", "base64"),
    reached: reached && {
      method: reached.method.slice(reached.method.lastIndexOf("/") + 1),
      message: Buffer.from(reached.message ?? "", "base64"),
    },
  };
}
