// Yardstick: the public service with connect-node over HTTP/2, or with connect-fastify over
// HTTP/1.1, as in their manuals, with one constant message. Arguments: port, `node` or `fastify`,
// message file.
import { readFileSync } from "node:fs";
import { createServer } from "node:http2";
import { fromBinary } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import fastify from "fastify";
import {
  GetPublicSettingsResponseSchema,
  PublicService,
} from "../../gen/mooring/v1/public_service_pb.js";
import type { FixedMessage } from "../yardstick.ts";

const [port = "0", kind = "node", file = ""] = process.argv.slice(2);
const { body } = JSON.parse(readFileSync(file, "utf8")) as FixedMessage;
const reply = fromBinary(GetPublicSettingsResponseSchema, Buffer.from(body, "base64"));
const routes = (router: ConnectRouter) =>
  router.service(PublicService, {
    ping: () => ({ message: "pong" }),
    getPublicSettings: () => reply,
  });

if (kind === "node") {
  createServer(connectNodeAdapter({ routes })).listen(Number(port), "127.0.0.1");
} else {
  const app = fastify();
  await app.register(fastifyConnectPlugin, { routes });
  await app.listen({ port: Number(port), host: "127.0.0.1" });
}
