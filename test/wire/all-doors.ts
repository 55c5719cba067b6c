import { connectGetDoor, connectHttp2Door, connectJsonDoor, grpcWebDoor } from "./door/connect.ts";
import type { Door } from "./door/door.ts";
import { grpcDoor } from "./door/grpc.ts";
import { restDoor, restHttp2Door } from "./door/rest.ts";

/** The ports of a service. */
export interface Ports {
  readonly port: number;
  readonly grpcPort: number;
}

/** A way into a service. */
export interface Entry {
  readonly name: string;
  readonly open: (ports: Ports) => Door;
  /** What the service has to be configured with. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Every way into a service with one port. */
export const sharedPortDoors: readonly Entry[] = [
  { name: "REST", open: ({ port }) => restDoor(port) },
  { name: "REST over HTTP/2", open: ({ port }) => restHttp2Door(port) },
  { name: "Connect JSON", open: ({ port }) => connectJsonDoor(port) },
  { name: "Connect GET", open: ({ port }) => connectGetDoor(port) },
  { name: "Connect over HTTP/2", open: ({ port }) => connectHttp2Door(port) },
  { name: "gRPC-Web", open: ({ port }) => grpcWebDoor(port) },
  { name: "gRPC", open: ({ port }) => grpcDoor("gRPC", port) },
];

/** Every way in. */
export const doors: readonly Entry[] = [
  ...sharedPortDoors,
  {
    name: "gRPC on a port of its own",
    open: ({ grpcPort }) => grpcDoor("gRPC on a port of its own", grpcPort),
    env: { MOORING_GRPC_LISTEN: "127.0.0.1:0" },
  },
];
