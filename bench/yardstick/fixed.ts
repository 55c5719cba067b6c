// Yardsticks with one fixed reply. Arguments: port, kind, file with the reply. `node:http`,
// `Fastify`: one route, `grpc-js`: one method with an encoded message, `connect-node` over HTTP/2
// and `connect-fastify` over HTTP/1.1: the public service as in the manuals of Connect.
import { readFileSync } from "node:fs";
import type { ConnectRouter } from "@connectrpc/connect";
import type { handleUnaryCall } from "@grpc/grpc-js";
import type { FixedReply } from "../yardstick.ts";

const [portText = "0", kind = "", file = ""] = process.argv.slice(2);
const port = Number(portText);
const host = "127.0.0.1";
const fixed = JSON.parse(readFileSync(file, "utf8")) as FixedReply;
const body = Buffer.from(fixed.body, "base64");

// A server loads only its own packages.
if (kind === "node:http") {
  const { createServer } = await import("node:http");
  const headers = Object.fromEntries(fixed.headers);
  createServer((_request, response) => {
    response.writeHead(fixed.status, headers);
    response.end(body);
  }).listen(port, host);
} else if (kind === "grpc-js") {
  const { Server, ServerCredentials } = await import("@grpc/grpc-js");
  // Neither decodes nor encodes messages.
  const same = (bytes: Buffer) => bytes;
  const call = {
    path: fixed.path,
    requestStream: false,
    responseStream: false,
    requestSerialize: same,
    requestDeserialize: same,
    responseSerialize: same,
    responseDeserialize: same,
  };
  const server = new Server();
  const answer: handleUnaryCall<Buffer, Buffer> = (_call, reply) => reply(null, body);
  server.addService({ call }, { call: answer });
  server.bindAsync(`${host}:${port}`, ServerCredentials.createInsecure(), (error) => {
    if (error !== null) throw error;
  });
} else if (kind === "connect-node") {
  const { createServer } = await import("node:http2");
  const { connectNodeAdapter } = await import("@connectrpc/connect-node");
  createServer(connectNodeAdapter({ routes: await publicService() })).listen(port, host);
} else {
  const { default: fastify } = await import("fastify");
  const app = fastify();
  if (kind === "connect-fastify") {
    const { fastifyConnectPlugin } = await import("@connectrpc/connect-fastify");
    await app.register(fastifyConnectPlugin, { routes: await publicService() });
  } else {
    const headers = Object.fromEntries(fixed.headers);
    app.get(fixed.path, (_request, answer) => {
      answer.code(fixed.status).headers(headers).send(body);
    });
  }
  await app.listen({ port, host });
}

async function publicService(): Promise<(router: ConnectRouter) => void> {
  const { fromBinary, fromJsonString } = await import("@bufbuild/protobuf");
  const { GetPublicSettingsResponseSchema, PublicService } = await import(
    "../../gen/mooring/v1/public_service_pb.js"
  );
  const schema = GetPublicSettingsResponseSchema;
  const isJson = kind === "connect-fastify";
  const reply = isJson ? fromJsonString(schema, body.toString()) : fromBinary(schema, body);
  return (router) =>
    router.service(PublicService, {
      ping: () => ({ message: "pong" }),
      getPublicSettings: () => reply,
    });
}
