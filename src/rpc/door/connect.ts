import type { DescService, Message } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type ConnectRouterOptions,
  createContextKey,
  createContextValues,
} from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { ServerReflection } from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import type { Call, Door, HeaderReader, Method } from "../method.ts";
import { connectLimits, jsonOptions } from "./connect-limit.ts";
import type { AnswerReflection } from "./reflection.ts";

const requestKey = createContextKey<FastifyRequest | undefined>(undefined);

/** The Connect and gRPC-Web door: all methods, for browsers, over HTTP/1.1. */
export async function registerConnect(
  fastify: FastifyInstance,
  options: {
    readonly methods: readonly Method[];
    readonly reflect: AnswerReflection;
  },
): Promise<void> {
  const { methods, reflect } = options;
  const limits: ConnectRouterOptions = {
    connect: true,
    grpcWeb: true,
    // gRPC proper needs HTTP/2 and has a door of its own.
    grpc: false,
    ...connectLimits,
    jsonOptions,
  };
  await fastify.register(fastifyConnectPlugin, {
    ...limits,
    contextValues: (request: FastifyRequest) => createContextValues().set(requestKey, request),
    routes: (router: ConnectRouter) => {
      addServices(router, methods);
      // Needs HTTP/2, because its requests are a stream too.
      router.service(ServerReflection, {
        async *serverReflectionInfo(requests) {
          for await (const request of requests) yield reflect(request);
        },
      });
    },
  });
}

function addServices(router: ConnectRouter, methods: readonly Method[]): void {
  const services = Map.groupBy(methods, (method): DescService => method.desc.parent);
  for (const [service, group] of services) {
    const implementation = Object.fromEntries(
      group.map((method) => [method.desc.localName, implement(method)]),
    );
    router.service(service, implementation as ServiceImpl<DescService>);
  }
}

function implement(method: Method) {
  return (request: Message, context: HandlerContext): unknown =>
    method.invoke(request, createConnectCall(context));
}

function createConnectCall(context: HandlerContext): Call {
  const request = context.values.get(requestKey);
  const requestId = request?.id ?? "";
  const header: HeaderReader = { get: (name) => context.requestHeader.get(name) ?? undefined };
  return {
    door: context.protocolName as Door,
    header,
    signal: context.signal,
    requestId,
    peer: request?.ip ?? "",
  };
}
