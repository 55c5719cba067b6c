import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { HttpReply } from "./call.ts";
import { accepts, freePort, until } from "./port.ts";
import { type Running, SERVER_CORE, type Stage } from "./stage.ts";

/** Running server on a port of 127.0.0.1. */
export interface Started {
  readonly server: Running;
  readonly port: number;
}

/** Servers in `yardstick/`. */
type Yardstick = "fixed.ts" | "gateway.ts" | "empty-fastify.mjs" | "save.ts";

/** Servers of `yardstick/fixed.ts`. */
export type FixedKind = "node:http" | "Fastify" | "grpc-js" | "connect-node" | "connect-fastify";

/** Starts a server with one fixed reply. @param kept file with the reply. */
export function startFixed(stage: Stage, kind: FixedKind, kept: string): Promise<Started> {
  return startYardstick(stage, "fixed.ts", [kind, kept]);
}

/** Starts a yardstick and waits until it accepts connections. @param args after the port. */
export async function startYardstick(
  stage: Stage,
  name: Yardstick,
  args: readonly string[] = [],
): Promise<Started> {
  const started = await launchYardstick(stage, name, args);
  await untilListening(started.server, started.port, name);
  return started;
}

/** Starts a yardstick without waiting. */
export async function launchYardstick(
  stage: Stage,
  name: Yardstick,
  args: readonly string[] = [],
): Promise<Started> {
  const port = await freePort();
  const program = fileURLToPath(new URL(`yardstick/${name}`, import.meta.url));
  const server = stage.start({
    program: process.execPath,
    args: [program, String(port), ...args],
    environment: { NODE_ENV: "production" },
    cores: SERVER_CORE,
  });
  return { server, port };
}

/** Waits until a server accepts connections. */
export function untilListening(server: Running, port: number, name: string): Promise<void> {
  const question = () => {
    server.assertAlive();
    return accepts(port);
  };
  return until(question, () => `${name} does not listen:\n${server.tail()}`);
}

/** Reply in a file, for a yardstick: headers and body as sent by Mooring. */
export interface FixedReply {
  readonly path: string;
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Base64. */
  readonly body: string;
}

/** Headers that Node's server adds by itself. */
const ADDED_BY_NODE = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);

/** Stores a reply of Mooring for its yardsticks; returns the file. */
export function keepReply(stage: Stage, path: string, reply: HttpReply): string {
  const { status, rawHeaders, body } = reply;
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!ADDED_BY_NODE.has(name.toLowerCase())) headers.push([name, value]);
  }
  return keep(stage, { path, status, headers, body: body.toString("base64") } satisfies FixedReply);
}

/** Answer of a gRPC yardstick. */
export interface FixedMessage {
  /** `/package.Service/Method`. */
  readonly path: string;
  /** Base64 of the encoded message. */
  readonly body: string;
}

/** Stores a message of Mooring for its yardsticks; returns the file. */
export function keepMessage(stage: Stage, path: string, body: Buffer): string {
  return keep(stage, { path, body: body.toString("base64") } satisfies FixedMessage);
}

function keep(stage: Stage, value: unknown): string {
  const file = join(stage.folder(), "reply.json");
  writeFileSync(file, JSON.stringify(value));
  return file;
}
