import { get } from "node:http";
import { argv, stdout } from "node:process";
import { createAria2Client } from "../../src/downloaders/aria2.ts";
import { createQbittorrentClient } from "../../src/downloaders/qbittorrent.ts";

// Runs as a separate process, because Node reads the proxy variables at start. Prints the failure
// of each kind of exchange with the given host and port.

const authority = argv[2] ?? "";
const aria2 = createAria2Client();
const calls = [
  aria2.getVersion({ uri: `http://${authority}/jsonrpc`, secret: "" }),
  aria2.getVersion({ uri: `ws://${authority}/jsonrpc`, secret: "" }),
  createQbittorrentClient().checkLogin({ url: `http://${authority}/` }),
];
for (const outcome of await Promise.allSettled(calls)) {
  stdout.write(`${outcome.status === "rejected" ? outcome.reason : "no failure"}\n`);
}
get(`http://${authority}/own`, (response) => response.resume());
