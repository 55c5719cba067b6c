import type { Server, Socket } from "node:net";
import { plainAddress } from "./address.ts";

/** Limits of concurrent connections. */
export interface ConnectionBounds {
  readonly all: number;
  /** Limit for one address; connections of a Unix socket have no address. */
  readonly eachPeer: number;
}

/** Counts open connections or requests by address. An empty address (Unix socket) is not counted. */
export class PeerCounts {
  readonly #counts = new Map<string, number>();

  /** @returns the number of open ones, including this one. */
  enter(peer: string): number {
    if (peer === "") return 0;
    const count = (this.#counts.get(peer) ?? 0) + 1;
    this.#counts.set(peer, count);
    return count;
  }

  leave(peer: string): void {
    const left = (this.#counts.get(peer) ?? 1) - 1;
    if (left > 0) this.#counts.set(peer, left);
    else this.#counts.delete(peer);
  }
}

/** Closes new connections above the limits at once. */
export function limitConnections(server: Server, { all, eachPeer }: ConnectionBounds): void {
  server.maxConnections = all;
  const peers = new PeerCounts();
  server.prependListener("connection", (socket: Socket) => {
    const peer = plainAddress(socket.remoteAddress);
    socket.once("close", () => peers.leave(peer));
    if (peers.enter(peer) > eachPeer) socket.destroy();
  });
}
