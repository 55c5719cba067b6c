// A program: connect-fastify as its manual shows it. Arguments: port, message file.
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import fastify from "fastify";
import { publicRoutes } from "./public-routes.ts";

const [port = "0", file = ""] = process.argv.slice(2);
const app = fastify();
await app.register(fastifyConnectPlugin, { routes: publicRoutes(file) });
await app.listen({ port: Number(port), host: "127.0.0.1" });
