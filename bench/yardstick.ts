import { fileURLToPath } from "node:url";
import { accepts, freePort, until } from "./port.ts";
import { type Running, SERVER_CORE, type Stage } from "./stage.ts";

/** A server that answers on a port of 127.0.0.1. */
export interface Started {
  readonly server: Running;
  readonly port: number;
}

/** The programs of `yardstick/` that are servers. */
export type Yardstick =
  | "http.ts"
  | "fastify.ts"
  | "gateway.ts"
  | "empty-fastify.mjs"
  | "empty-fastify.ts"
  | "grpc.ts"
  | "grpc-sqlite.ts"
  | "connect-node.ts"
  | "connect-fastify.ts";

/** Starts a yardstick and waits until it takes connections. @param args what follows the port. */
export async function startYardstick(
  stage: Stage,
  name: Yardstick,
  ...args: readonly string[]
): Promise<Started> {
  const started = await launchYardstick(stage, name, ...args);
  await untilListening(started.server, started.port, name);
  return started;
}

/** Starts a yardstick and does not wait. */
export async function launchYardstick(
  stage: Stage,
  name: Yardstick,
  ...args: readonly string[]
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

/** Starts etcd on one core, as a single member with its data on the same disk. */
export async function startEtcd(stage: Stage): Promise<Started> {
  const [port, peer] = [await freePort(), await freePort()];
  const server = stage.start({
    program: "etcd",
    args: [
      ...["--data-dir", stage.folder(), "--log-level", "error"],
      ...["--listen-client-urls", `http://127.0.0.1:${port}`],
      ...["--advertise-client-urls", `http://127.0.0.1:${port}`],
      ...["--listen-peer-urls", `http://127.0.0.1:${peer}`],
      ...["--initial-advertise-peer-urls", `http://127.0.0.1:${peer}`],
      ...["--initial-cluster", `default=http://127.0.0.1:${peer}`],
    ],
    environment: { GOMAXPROCS: "1" },
    cores: SERVER_CORE,
  });
  await untilListening(server, port, "etcd");
  return { server, port };
}

function untilListening(server: Running, port: number, name: string): Promise<void> {
  const question = () => {
    server.assertAlive();
    return accepts(port);
  };
  return until(question, () => `${name} does not listen:\n${server.tail()}`);
}
