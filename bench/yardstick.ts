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

/** Starts a server with one fixed reply. */
export function startFixed(stage: Stage, kind: FixedKind, reply: FixedReply): Promise<Started> {
  const file = join(stage.folder(), "reply.json");
  writeFileSync(file, JSON.stringify(reply));
  return startYardstick(stage, "fixed.ts", [kind, file]);
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

/** Reply for a yardstick: headers and body as sent by Mooring. */
export interface FixedReply {
  /** `/package.Service/Method` in gRPC. */
  readonly path: string;
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** Base64. */
  readonly body: string;
}

/** Headers that Node's server adds by itself. */
const ADDED_BY_NODE = new Set(["date", "connection", "keep-alive", "transfer-encoding"]);

export function keptReply(path: string, { status, rawHeaders, body }: HttpReply): FixedReply {
  const headers: [string, string][] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!ADDED_BY_NODE.has(name.toLowerCase())) headers.push([name, value]);
  }
  return { path, status, headers, body: body.toString("base64") };
}
