// Yardstick: Fastify with one route that sends a fixed buffer. Arguments: port, path, reply file.
import { readFileSync } from "node:fs";
import fastify from "fastify";
import type { FixedReply } from "../yardstick.ts";

const [port = "0", path = "/", file = ""] = process.argv.slice(2);
const reply = JSON.parse(readFileSync(file, "utf8")) as FixedReply;
const body = Buffer.from(reply.body, "base64");
const headers = Object.fromEntries(reply.headers);

const app = fastify();
app.get(path, (_request, answer) => {
  answer.code(reply.status).headers(headers).send(body);
});
await app.listen({ port: Number(port), host: "127.0.0.1" });
