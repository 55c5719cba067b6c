import {
  connectGetTransport,
  connectHttp2Transport,
  connectJsonTransport,
  grpcWebTransport,
} from "./transport/connect.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { restHttp2Transport, restTransport } from "./transport/rest.ts";
import type { Transport } from "./transport/transport.ts";

/** The ports of a service. */
export interface Ports {
  readonly port: number;
  readonly grpcPort: number;
}

/** A transport, before it is opened. */
export interface Entry {
  readonly name: string;
  readonly open: (ports: Ports) => Transport;
  /** Required configuration of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The transports of a service with one port. */
export const sharedPortTransports: readonly Entry[] = [
  { name: "REST", open: ({ port }) => restTransport(port) },
  { name: "REST over HTTP/2", open: ({ port }) => restHttp2Transport(port) },
  { name: "Connect JSON", open: ({ port }) => connectJsonTransport(port) },
  { name: "Connect GET", open: ({ port }) => connectGetTransport(port) },
  { name: "Connect over HTTP/2", open: ({ port }) => connectHttp2Transport(port) },
  { name: "gRPC-Web", open: ({ port }) => grpcWebTransport(port) },
  { name: "gRPC", open: ({ port }) => grpcTransport("gRPC", port) },
];

/** All transports. */
export const transports: readonly Entry[] = [
  ...sharedPortTransports,
  {
    name: "gRPC on a port of its own",
    open: ({ grpcPort }) => grpcTransport("gRPC on a port of its own", grpcPort),
    env: { MOORING_GRPC_LISTEN: "127.0.0.1:0" },
  },
];
