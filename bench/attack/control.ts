// Control server, which is not attacked: its response times are those of the machine.
import { createServer } from "node:http";

createServer((_request, response) => response.end("pong")).listen(
  Number(process.argv[2]),
  "127.0.0.1",
);
