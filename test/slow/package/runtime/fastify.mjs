import { fastify } from "fastify";
import { createOpenApi, restGateway } from "mooring-gateway";
import { options } from "./routes.mjs";

const app = fastify();
await app.register(restGateway, options);
const document = createOpenApi({ ...options, title: "Library", version: "1" });
app.get("/openapi.json", () => document);
process.stdout.write(`${await app.listen({ host: "127.0.0.1", port: 0 })}\n`);
