// A program: the same as TypeScript, to show what loading Node's type stripping costs. Argument: port.
import fastify from "fastify";

const app = fastify();
app.get("/ping", () => "pong");
await app.listen({ port: Number(process.argv[2]), host: "127.0.0.1" });
