import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { driverByName } from "./site/desk.ts";
import { type Storages, startStorages } from "./site/stand-in.ts";

/** A server with settings and mounts: two stand-ins behind one address. */
export interface WholeSite {
  readonly url: string;
  token(): string;
  readonly settings: StandIn;
  readonly storages: Storages;
  /** Values of the header `client-id` so far; "": it was absent. */
  readonly clientIds: ReadonlySet<string>;
  stop(): Promise<void>;
}

export async function startWholeSite(): Promise<WholeSite> {
  const [settings, storages] = await Promise.all([startStandIn(), startStorages(driverByName)]);
  const clientIds = new Set<string>();
  const server: Server = createServer((request, response) => {
    clientIds.add(String(request.headers["client-id"] ?? ""));
    const path = request.url ?? "/";
    const isMount = path.startsWith("/api/admin/storage/") || path.startsWith("/api/fs/");
    if (!isMount) return settings.serve(request, response);
    const isAdmin = request.headers.authorization === settings.token();
    request.headers.authorization = isAdmin ? storages.token : "wrong";
    storages.serve(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token: settings.token,
    settings,
    storages,
    clientIds,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await Promise.all([settings.stop(), storages.stop()]);
    },
  };
}
