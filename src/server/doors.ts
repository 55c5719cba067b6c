import type { Server as HttpServer } from "node:http";
import { createServer, type Server as NetServer } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Server as GrpcServer, ServerCredentials } from "@grpc/grpc-js";
import type { FastifyInstance } from "fastify";
import type { Address } from "../config/address.ts";
import { createSharedServer, type TakeConnection, toHttp1 } from "./connection.ts";
import { listen } from "./listen.ts";

/** How often idle connections are looked for while the server drains, in milliseconds. */
const DRAIN_CHECK = 20;

export interface OpenDoorsOptions {
  readonly fastify: FastifyInstance;
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
  const { fastify, grpc, grpcListen } = options;
  await fastify.ready();
  const http = fastify.server as HttpServer;
  const injector = grpc.createConnectionInjector(ServerCredentials.createInsecure());
  const http1 = toHttp1(http);
  const http2: TakeConnection = (socket) => injector.injectConnection(socket);
  const servers: NetServer[] = [];
  const open = async (server: NetServer, at: Address, name: string): Promise<Address> => {
    const address = await listen(server, at, name);
    servers.push(server);
    return address;
  };
  const shared = createSharedServer({ http1, http2: grpcListen === undefined ? http2 : http1 });
  const address = await open(shared, options.listen, "MOORING_LISTEN");
  const ownServer = createServer({ noDelay: true }, http2);
  let grpcAddress = address;
  if (grpcListen !== undefined)
    try {
      grpcAddress = await open(ownServer, grpcListen, "MOORING_GRPC_LISTEN");
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
    injector.destroy();
    await fastify.close();
  };
  return { address, grpcAddress, close };
}
