import { get } from "node:http";
import { argv, stdout } from "node:process";
import { createAria2Client } from "../../src/downloaders/aria2.ts";
import { createQbittorrentClient } from "../../src/downloaders/qbittorrent.ts";

// Run as a process of its own, because Node reads the proxy variables when it starts. Prints how
// each way of the clients to the given host and port fails.

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
