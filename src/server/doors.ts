import { createServer, type Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Address } from "../config/address.ts";
import { type Front, toHttp1 } from "./front.ts";
import type { HttpDoor } from "./http.ts";
import { createHttp2Door, type GrpcDoor } from "./http2.ts";
import { listen } from "./listen.ts";

/** How often idle connections are looked for while the server drains, in milliseconds. */
const DRAIN_CHECK = 20;

export interface OpenDoorsOptions {
  readonly http: HttpDoor;
  readonly grpc: GrpcDoor;
  /** The shared port, which listens already. */
  readonly front: Front;
  /** Undefined: gRPC shares the port. */
  readonly grpcListen: Address | undefined;
}

/** The servers behind the listening sockets. */
export interface Doors {
  /** The address of gRPC alone; undefined: it shares the front's. */
  readonly grpcAddress: Address | undefined;
  /**
   * Accepts nothing new, lets calls in flight finish and says GOAWAY.
   *
   * @param grace after so many milliseconds what is left is cut off.
   */
  close(grace: number): Promise<void>;
}

/**
 * Puts the servers behind the front, and opens the port of gRPC where it has its own.
 *
 * @throws Error naming the address and what to do.
 */
export async function openDoors(options: OpenDoorsOptions): Promise<Doors> {
  const { grpc, grpcListen, front } = options;
  const { fastify, server: http, handler } = options.http;
  await fastify.ready();
  const servers: NetServer[] = [front.server];
  let grpcAddress: Address | undefined;
  if (grpcListen !== undefined) {
    const alone = createServer({ noDelay: true }, createHttp2Door(grpc, undefined));
    grpcAddress = await listen(alone, grpcListen, "MOORING_GRPC_LISTEN");
    servers.push(alone);
  }
  // With a port of its own, gRPC is not served here: its streams get 404 like any unknown path.
  const http2 = createHttp2Door(grpc, handler, { grpcHere: grpcListen === undefined });
  front.open({ http1: toHttp1(http), http2 });

  const close = async (grace: number): Promise<void> => {
    const closed = Promise.all([
      ...servers.map((server) => new Promise((resolve) => server.close(resolve))),
      new Promise((resolve) => grpc.server.tryShutdown(resolve)),
    ]).then(() => true);
    // A connection that has had its reply is not kept for another request.
    http.keepAliveTimeout = 1;
    const giveUp = Date.now() + grace;
    while (Date.now() < giveUp) {
      http.closeIdleConnections();
      if (await Promise.race([closed, sleep(DRAIN_CHECK, false)])) break;
    }
    http.closeAllConnections();
    grpc.server.forceShutdown();
    await fastify.close();
  };
  return { grpcAddress, close };
}
