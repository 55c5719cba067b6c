// Yardstick: node:http that sends one fixed buffer for every request. Arguments: port, reply file.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { FixedReply } from "../yardstick.ts";

const [port = "0", file = ""] = process.argv.slice(2);
const reply = JSON.parse(readFileSync(file, "utf8")) as FixedReply;
const body = Buffer.from(reply.body, "base64");
const headers = Object.fromEntries(reply.headers);

createServer((_request, response) => {
  response.writeHead(reply.status, headers);
  response.end(body);
}).listen(Number(port), "127.0.0.1");
