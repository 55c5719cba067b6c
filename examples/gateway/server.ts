import { fastify } from "fastify";
import { createOpenApi, restGateway } from "mooring-gateway";
import { routes } from "./library.ts";

const app = fastify();
await app.register(restGateway, { routes });
const document = createOpenApi({ routes, title: "Library", version: "1" });
app.get("/openapi.json", () => document);
console.log(await app.listen({ host: "127.0.0.1", port: Number(process.env["PORT"] ?? 8080) }));
