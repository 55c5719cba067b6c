import type { DescService } from "@bufbuild/protobuf";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { forwardTo } from "./forward.ts";
import { createMethods, type Method, type Routes } from "./method.ts";

/** The rpcs of a gateway and what carries them out. The members may be given together. */
export interface Served {
  /** Registers services with their implementation, as for `fastifyConnectPlugin`. */
  readonly routes?: Routes;
  /** Connect's interceptors around `routes` and `services`; the first is the outermost. */
  readonly interceptors?: readonly Interceptor[];
  /** Services that another server carries out, which `target` reaches. */
  readonly services?: readonly DescService[];
  /** A transport of Connect, such as `createGrpcTransport`, to the server of `services`. */
  readonly target?: Transport;
  /** Methods that are bound already: see createMethods. */
  readonly methods?: readonly Method[];
}

/**
 * All methods that are served.
 *
 * @throws Error for services without a target, and for a method of `routes` that streams its requests.
 */
export function servedMethods(served: Served): readonly Method[] {
  const { routes, interceptors, services = [], target, methods = [] } = served;
  if (services.length > 0 && target === undefined)
    throw new Error("services without target: give the transport to the server that has them");
  return [
    ...methods,
    ...(routes === undefined ? [] : createMethods(routes, interceptors)),
    ...(target === undefined ? [] : createMethods(forwardTo(target, services), interceptors)),
  ];
}
