import { createServer, type Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Server as GrpcServer } from "@grpc/grpc-js";
import type { Address } from "../config/address.ts";
import { createSharedServer, toHttp1 } from "./connection.ts";
import type { HttpDoor } from "./http.ts";
import { createHttp2Door } from "./http2.ts";
import { listen } from "./listen.ts";

/** How often idle connections are looked for while the server drains, in milliseconds. */
const DRAIN_CHECK = 20;

export interface OpenDoorsOptions {
  readonly http: HttpDoor;
  readonly grpc: GrpcServer;
  readonly listen: Address;
  /** Undefined: gRPC shares the address. */
  readonly grpcListen: Address | undefined;
}

/** The listening sockets with the servers behind them. */
export interface Doors {
  readonly address: Address;
  readonly grpcAddress: Address;
  /**
   * Accepts nothing new, lets calls in flight finish and says GOAWAY.
   *
   * @param grace after so many milliseconds what is left is cut off.
   */
  close(grace: number): Promise<void>;
}

/**
 * Opens the sockets: one for all protocols, or one more for gRPC alone.
 *
 * @throws Error naming the address and what to do.
 */
export async function openDoors(options: OpenDoorsOptions): Promise<Doors> {
  const { grpc, grpcListen } = options;
  const { fastify, server: http, handler } = options.http;
  await fastify.ready();
  const http2 = createHttp2Door(grpc, handler);
  const grpcAlone = grpcListen && createHttp2Door(grpc, undefined);
  const servers: NetServer[] = [];
  const open = async (server: NetServer, at: Address, name: string): Promise<Address> => {
    const address = await listen(server, at, name);
    servers.push(server);
    return address;
  };
  const shared = createSharedServer({ http1: toHttp1(http), http2: http2.take });
  const address = await open(shared, options.listen, "MOORING_LISTEN");
  let grpcAddress = address;
  if (grpcListen !== undefined)
    try {
      const own = createServer({ noDelay: true }, grpcAlone?.take);
      grpcAddress = await open(own, grpcListen, "MOORING_GRPC_LISTEN");
    } catch (error) {
      shared.close();
      throw error;
    }

  const close = async (grace: number): Promise<void> => {
    const closed = Promise.all([
      ...servers.map((server) => new Promise((resolve) => server.close(resolve))),
      new Promise((resolve) => grpc.tryShutdown(resolve)),
    ]).then(() => true);
    // A connection that has had its reply is not kept for another request.
    http.keepAliveTimeout = 1;
    const giveUp = Date.now() + grace;
    while (Date.now() < giveUp) {
      http.closeIdleConnections();
      if (await Promise.race([closed, sleep(DRAIN_CHECK, false)])) break;
    }
    http.closeAllConnections();
    grpc.forceShutdown();
    http2.close();
    grpcAlone?.close();
    await fastify.close();
  };
  return { address, grpcAddress, close };
}
