import { once } from "node:events";
import { readFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import {
  type ConnectionBounds,
  limitConnections,
} from "../../../src/transport/connection-limit.ts";
import { createTlsServer } from "../../../src/transport/tls.ts";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";
import { makeAuthority, type Pair } from "../../wire/certificate.ts";

const authority = startedForAll(makeAuthority);
let pair: Pair;
beforeEach(needs("openssl"));
beforeAll(async () => {
  pair = await authority.issue("server");
});

/** A TLS server that answers each connection with one line. @returns its port. */
async function start(handshakeMs: number, bounds: ConnectionBounds): Promise<number> {
  const credentials = {
    cert: readFileSync(pair.certificate, "utf8"),
    key: readFileSync(pair.key, "utf8"),
  };
  const { server } = createTlsServer(credentials, { handshakeMs }, (socket) => socket.end("ready"));
  limitConnections(server, bounds);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The first bytes of a TLS record that announces a ClientHello of 512 bytes. */
const HALF = Buffer.from("1603010200010001fc0303", "hex");

async function halfHandshake(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined).resume();
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(HALF);
  return socket;
}

/** The line of the server; undefined: it closed the connection. */
function lineOf(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
    socket.once("data", (line) => resolve(String(line)));
    socket.on("error", () => undefined).once("close", () => resolve(undefined));
  });
}

test("a handshake that does not end is closed at its time-out", async () => {
  const port = await start(40, { all: 9, eachPeer: 9 });
  const socket = await halfHandshake(port);
  if (!socket.destroyed) await once(socket, "close");
}, 15_000);

test.each([
  ["all connections", { all: 2, eachPeer: 9 }],
  ["connections of one address", { all: 9, eachPeer: 2 }],
])("incomplete handshakes count among %s", async (_, bounds) => {
  const port = await start(3_600_000, bounds);
  const [first] = [await halfHandshake(port), await halfHandshake(port)];
  expect(await lineOf(port)).toBeUndefined();
  first.destroy();
  await expect.poll(() => lineOf(port)).toBe("ready");
});
