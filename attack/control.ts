// A server that nobody attacks, beside the one that is: how long it takes is what the machine takes.
import { createServer } from "node:http";

createServer((_request, response) => response.end("pong")).listen(
  Number(process.argv[2]),
  "127.0.0.1",
);
