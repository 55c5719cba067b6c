// Program: a minimal Fastify server, in JavaScript. Argument: port.
import fastify from "fastify";

const app = fastify();
app.get("/ping", () => "pong");
await app.listen({ port: Number(process.argv[2]), host: "127.0.0.1" });
