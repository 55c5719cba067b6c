import { once } from "node:events";
import { connect, createServer, type ServerHttp2Session } from "node:http2";
import { connect as connectSocket } from "node:net";
import { expect, test } from "vitest";
import { keepAlive } from "../../src/transport/keep-alive.ts";
import { serve } from "../loopback.ts";

/** Starts a server that pings its clients soon. @returns its port and its next session. */
async function pinging() {
  const server = createServer();
  server.on("session", (session) => keepAlive(session, { interval: 10, patience: 200 }));
  const session = once(server, "session") as Promise<[ServerHttp2Session]>;
  return { port: (await serve(server)).port, session };
}

test("a client that does not answer a ping is disconnected", async () => {
  const { port, session } = await pinging();
  const socket = connectSocket(port, "127.0.0.1");
  // The preface and empty settings, as a client sends them (RFC 9113, section 3.4).
  socket.write(`PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0`);
  socket.resume();
  const [opened] = await session;
  await once(opened, "close");
  await once(socket, "close");
});

test("a client that answers stays connected, and is asked again", async () => {
  const { port, session } = await pinging();
  const client = connect(`http://127.0.0.1:${port}`);
  const [opened] = await session;
  for (let ping = 0; ping < 3; ping++) await once(client, "ping");
  expect(opened.destroyed).toBe(false);
  client.close();
  await once(opened, "close");
});
