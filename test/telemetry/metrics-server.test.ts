import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { type MetricsLimits, serveMetrics } from "../../src/telemetry/metrics-server.ts";

/** Long enough that no time-out has an effect. */
const NEVER = 3_600_000;
const LIMITS: MetricsLimits = {
  connections: { all: 3, eachPeer: 3 },
  requestMs: NEVER,
  idleMs: NEVER,
};

/** @returns the port. */
async function start(
  limits: Partial<MetricsLimits>,
  text: () => string = () => "up 1\n",
): Promise<number> {
  const server = await serveMetrics(
    { at: { host: "127.0.0.1", port: 0 }, socketMode: 0o600 },
    async () => text(),
    { ...LIMITS, ...limits },
  );
  onTestFinished(server.close);
  return Number(server.address.split(":").at(-1));
}

/** A connection on which a text was sent. */
async function send(port: number, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

async function closed(socket: Socket): Promise<void> {
  socket.resume();
  if (!socket.destroyed) await once(socket, "close");
}

async function scrape(port: number): Promise<string> {
  const reply = await fetch(`http://127.0.0.1:${port}/metrics`, {
    headers: { connection: "close" },
  });
  return reply.text();
}

const HALF = "GET /metrics HTTP/1.1\r\nHost: a\r\n";

test.each([
  ["in total", { all: 2, eachPeer: 9 }],
  ["of one address", { all: 9, eachPeer: 2 }],
])(
  "a connection beyond the limit %s is closed, and accepted again when one ends",
  async (_, connections) => {
    const port = await start({ connections });
    const open = [await send(port, HALF), await send(port, HALF)];
    await closed(await send(port, HALF));
    // The earlier connections stay open.
    for (const socket of open) {
      socket.write("Connection: close\r\n\r\n");
      expect(String((await once(socket, "data"))[0])).toContain("HTTP/1.1 200 OK");
      await closed(socket);
    }
    await vi.waitFor(async () => expect(await scrape(port)).toBe("up 1\n"), 60_000);
  },
);

test.each([
  ["sends nothing", ""],
  ["sends a partial head", HALF],
  ["sends a partial body", `${HALF.replace("GET", "POST")}Content-Length: 9\r\n\r\n1234`],
])("a connection that %s is closed at its time-out", async (_, text) => {
  const port = await start({ requestMs: 40 });
  await closed(await send(port, text));
});

test("a connection that does not read its reply is closed, and its slot is free again", async () => {
  const replies = ["x".repeat(32 * 1024 * 1024)];
  const limits = { idleMs: 200, connections: { all: 1, eachPeer: 1 } };
  const port = await start(limits, () => replies.pop() ?? "up 1\n");
  const socket = await send(port, `${HALF}\r\n`);
  socket.pause();
  await expect.poll(() => scrape(port).catch(() => "refused")).toBe("up 1\n");
  expect(replies).toEqual([]);
});
