import { fastify } from "fastify";
import { onTestFinished } from "vitest";
import { type RestHandlerOptions, restHandler } from "../../src/gateway/fetch.ts";
import { restGateway } from "../../src/gateway/gateway.ts";

/** Options that both mounts have. */
export type MountOptions = Omit<RestHandlerOptions, "contextValues">;

/** Sends a request to a gateway; the path begins with a slash. */
export type Ask = (path: string, init?: RequestInit) => Promise<Response>;

/** The two ways to mount a gateway, each as a function that returns a client. */
export const MOUNTS: readonly [name: string, mount: (options: MountOptions) => Promise<Ask>][] = [
  ["the Fastify plugin", mountPlugin],
  ["restHandler", async (options) => mountHandler(options)],
];

async function mountPlugin({ prefix = "", ...options }: MountOptions): Promise<Ask> {
  const app = fastify({ forceCloseConnections: true });
  await app.register(restGateway, { ...options, prefix });
  onTestFinished(async () => void (await app.close()));
  const address = await app.listen({ host: "127.0.0.1", port: 0 });
  return (path, init) => fetch(`${address}${path}`, withDuplex(init));
}

function mountHandler(options: MountOptions): Ask {
  const handler = restHandler(options);
  return (path, init) => handler(new Request(`http://localhost${path}`, withDuplex(init)));
}

/** Required for a body that is a stream (Fetch standard, "duplex"). */
function withDuplex(init: RequestInit = {}): RequestInit {
  return init.body instanceof ReadableStream ? { ...init, duplex: "half" } : init;
}
