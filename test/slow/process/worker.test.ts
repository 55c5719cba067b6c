import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { establishedSockets } from "../../process/established-sockets.ts";
import { type MooringProcess, startedMooring, TOKEN } from "../../process/mooring.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_WORKERS: "2" };
const headers = { authorization: TOKEN };
const PING = "GET /ping HTTP/1.1\r\nHost: x\r\n\r\n";

/** Workers in the order in which they began to serve. */
function workersOf(mooring: MooringProcess): number[] {
  return mooring.log().flatMap(({ msg, worker }) => (msg === "serving" ? [Number(worker)] : []));
}

async function started(): Promise<MooringProcess> {
  const mooring = await startedMooring({ env });
  await mooring.logged(() => workersOf(mooring).length === 2);
  return mooring;
}

async function kill(mooring: MooringProcess, worker: number): Promise<void> {
  const before = workersOf(mooring).length;
  process.kill(worker, "SIGKILL");
  await mooring.logged(() => workersOf(mooring).length > before);
}

function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** A connection that has had one reply and stays open. */
async function idle(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(PING);
  await once(socket, "data");
  return socket;
}

/** Sends one request on a new connection: resolves with the reply, or "closed". */
function ask(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1").on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(PING);
  return new Promise((resolve) => {
    socket.on("close", () => resolve("closed"));
    socket.on("data", (reply) => {
      resolve(String(reply));
      socket.destroy();
    });
  });
}

test("a killed worker leaves no connection open; those of the others stay", async () => {
  const mooring = await started();
  const sockets = await Promise.all(Array.from({ length: 24 }, () => idle(mooring.port())));
  let closed = 0;
  for (const socket of sockets) socket.once("close", () => (closed += 1));
  const [killed = 0, other = 0] = workersOf(mooring);
  const [lost, kept] = [killed, other].map((pid) => establishedSockets(pid, mooring.port()));
  expect([lost, kept]).toEqual([expect.any(Number), 24 - Number(lost)]);
  await kill(mooring, killed);
  await expect.poll(() => closed).toBe(lost);
  const open = sockets.filter((socket) => !socket.destroyed);
  expect(open).toHaveLength(Number(kept));
  for (const socket of open) {
    socket.write(PING);
    expect(String(await once(socket, "data"))).toContain("pong");
  }
});

test("every call beside killed workers is answered or its connection closed, and descriptors are released", async () => {
  const mooring = await started();
  const before = openFiles(mooring.pid);
  let over = false;
  const outcomes: string[] = [];
  const asking = async (): Promise<void> => {
    while (!over) outcomes.push(await ask(mooring.port()));
  };
  const clients = Array.from({ length: 12 }, asking);
  for (let round = 0; round < 3; round += 1) await kill(mooring, workersOf(mooring).at(-1) ?? 0);
  over = true;
  // A connection that was neither answered nor closed would block here.
  await Promise.all(clients);
  expect(outcomes.filter((outcome) => outcome.includes("pong")).length).toBeGreaterThan(0);
  await expect.poll(() => openFiles(mooring.pid)).toBe(before);
});

test("the ports that the system has chosen stay, also when every worker is killed at once", async () => {
  const own = { ...env, MOORING_GRPC_LISTEN: "127.0.0.1:0" };
  const mooring = await startedMooring({ env: own });
  const serving = () => mooring.log().filter(({ msg }) => msg === "serving");
  await mooring.logged(() => serving().length === 2);
  for (const worker of workersOf(mooring)) process.kill(worker, "SIGKILL");
  await mooring.logged(() => serving().length === 4);
  const at = serving().map(({ listen, grpc }) => ({ listen, grpc }));
  expect(at).toEqual(new Array(4).fill(at[0]));
  expect(await ask(mooring.port())).toContain("pong");
  expect(mooring.grpcPort()).not.toBe(mooring.port());
});

test("the worker that takes its place serves", async () => {
  const mooring = await started();
  for (const worker of workersOf(mooring)) await kill(mooring, worker);
  const replacements = workersOf(mooring).slice(2);
  for (const worker of replacements) {
    const connections = () => {
      void idle(mooring.port());
      return establishedSockets(worker, mooring.port());
    };
    await expect.poll(connections).toBeGreaterThan(0);
  }
  const path = "/api/admin/setting/get?key=site_title";
  const { json } = await http1Sender(mooring.port())(path, { headers });
  expect(json).toMatchObject({ code: 200 });
});
