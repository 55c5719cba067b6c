import type { AddressInfo, Server } from "node:net";
import { vi } from "vitest";
import { createPipe } from "../../src/proxy/pipe.ts";
import { refuse } from "../../src/upstream/handler.ts";

/** Listens on a free loopback port. @returns the port. */
export async function listening(server: Pick<Server, "listen" | "address">): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
  return (server.address() as AddressInfo).port;
}

/** A pipe to the server of a port. */
export const pipeTo = (port: number, options: Partial<Parameters<typeof createPipe>[0]> = {}) =>
  createPipe({
    url: new URL(`http://127.0.0.1:${port}`),
    bounds: { all: 99, eachPeer: 99 },
    via: "test",
    originOf: () => ({ peer: "127.0.0.1", scheme: "http" }),
    authorizationOf: () => undefined,
    reasonOf: ({ message }) => message,
    refuse,
    onFailure: () => undefined,
    ...options,
  });

export const soon = (check: () => void) => vi.waitFor(check, { timeout: 60_000, interval: 5 });
