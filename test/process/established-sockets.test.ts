import { connect, createServer, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { establishedSockets } from "./established-sockets.ts";

const linux = process.platform === "linux";
const sockets: Socket[] = [];

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

describe.skipIf(!linux)(`connections from /proc${linux ? "" : " (skipped: not Linux)"}`, () => {
  it("count the connections that a process serves on a port, not those that it opens", async () => {
    const server = createServer((socket) => sockets.push(socket.resume()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = address !== null && typeof address === "object" ? address.port : 0;
    for (let made = 0; made < 3; made++) sockets.push(connect(port, "127.0.0.1"));
    await expect.poll(() => establishedSockets(process.pid, port)).toBe(3);
    server.close();
  });
});
