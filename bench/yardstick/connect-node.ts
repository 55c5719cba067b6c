// A program: connect-node as its manual shows it, over HTTP/2. Arguments: port, message file.
import { createServer } from "node:http2";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { publicRoutes } from "./public-routes.ts";

const [port = "0", file = ""] = process.argv.slice(2);
createServer(connectNodeAdapter({ routes: publicRoutes(file) })).listen(Number(port), "127.0.0.1");
