import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance } from "fastify";
import { ServerReflection } from "../../gen/grpc/reflection/v1/reflection_pb.js";
import type { AnswerReflection } from "./reflection.ts";

/**
 * Serves reflection over Connect and gRPC-Web, by connect-fastify: its requests are a stream, so it
 * needs HTTP/2.
 *
 * @param check of the header `authorization`, before anything is read; undefined: public.
 */
export async function registerReflection(
  fastify: FastifyInstance,
  reflect: AnswerReflection,
  check?: (authorization: string | undefined) => Promise<void>,
): Promise<void> {
  await fastify.register(fastifyConnectPlugin, {
    grpc: false,
    ...(check && {
      requestGate: ({ requestHeader }) => check(requestHeader.get("authorization") ?? undefined),
    }),
    readMaxBytes: 4 * 1024,
    routes: (router) =>
      router.service(ServerReflection, {
        async *serverReflectionInfo(requests) {
          for await (const request of requests) yield reflect(request);
        },
      }),
  });
}
