import { join } from "node:path";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { establishedSockets } from "../../process/established-sockets.ts";
import { type MooringProcess, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { postgresOfTest, postgresProgram } from "../../store/postgres/server.ts";
import { type As, as, drained, give } from "../../wire/access-client.ts";

const LONG = { timeout: 120_000 };
const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_WRONG_TOKENS: "0" };
const REFUSED = { code: Code.Unauthenticated };

/** A deployment: its ports, and the processes that must refuse. */
interface Running {
  readonly ports: readonly number[];
  /** Processes behind a port. */
  readonly workers: readonly number[];
}

async function twoWorkers(): Promise<Running> {
  const mooring = await startedMooring({ env: { ...env, MOORING_WORKERS: "2" } });
  const serving = () => mooring.log().filter(({ msg }) => msg === "serving");
  await mooring.logged(() => serving().length === 2);
  return { ports: [mooring.port()], workers: serving().map(({ worker }) => Number(worker)) };
}

/** Two services on one SQLite file, one of them with workers. */
async function workersAndAnother(): Promise<Running> {
  const folder = await testFolder();
  const first = await startedMooring({ folder, env: { ...env, MOORING_WORKERS: "2" } });
  const second = await startedMooring({ folder, env });
  return { ports: [first.port(), second.port()], workers: [] };
}

async function startTwo(): Promise<[MooringProcess, MooringProcess]> {
  const url = await (await postgresOfTest()).newDatabase();
  const folder = await testFolder();
  const start = (at: string) =>
    startedMooring({
      folder,
      env: { ...env, MOORING_DATABASE_URL: url, MOORING_DATA_DIR: join(folder, at) },
    });
  return [await start("a"), await start("b")];
}

async function twoInstances(): Promise<Running> {
  return { ports: (await startTwo()).map((instance) => instance.port()), workers: [] };
}

/** Clients with a connection each, enough for every process to have some. */
async function clientsOf({ ports, workers }: Running, token: string): Promise<As[]> {
  const clients: As[] = [];
  const [port = 0] = ports;
  const areAllReached = (): boolean =>
    workers.every((worker) => establishedSockets(worker, port) > 0);
  while (clients.length < 8 || !areAllReached()) {
    const client = as(ports[clients.length % ports.length] ?? 0, token);
    await read(client);
    clients.push(client);
  }
  return clients;
}

const read = ({ settings }: As) => settings.getSetting({ key: "site_title" });

interface Made {
  readonly id: string;
  readonly principal: string;
  readonly end: number;
}

type End = (root: As, made: Made) => Promise<unknown>;

const ends: Readonly<Record<string, End>> = {
  revoked: ({ access }, { id }) => access.revokeToken({ id }),
  disabled: ({ access }, { principal }) => access.disablePrincipal({ name: principal }),
  rotated: ({ access }, { id }) => access.rotateToken({ id, overlap: {} }),
  expired: async (_root, { end }) => {
    await expect.poll(() => Date.now()).toBeGreaterThanOrEqual(end);
  },
};

const places: readonly (readonly [string, () => Promise<Running>, readonly string[]])[] = [
  ["two workers", twoWorkers, []],
  ["two workers and another process on their database", workersAndAnother, []],
  ["two instances on PostgreSQL", twoInstances, [postgresProgram("postgres")]],
];

test.for(places)(
  "a right that ends has ended in %s at the reply, with its streams",
  LONG,
  async ([, start, programs], context) => {
    needs(...programs)(context);
    const running = await start();
    // For any process of the request.
    for (const [how, end] of Object.entries(ends))
      for (const port of how === "expired" ? running.ports.slice(0, 1) : running.ports) {
        const root = as(port, TOKEN);
        const principal = `${how}-${port}`;
        const until = Date.now() + (how === "expired" ? 5_000 : 3_600_000);
        const { secret, token } = await root.access.createToken({
          principal,
          scopes: ["settings:read"],
          expireTime: timestampFromMs(until),
        });
        const clients = await clientsOf(running, secret);
        const streams = clients.map((client) =>
          client.settings.watchSettings({})[Symbol.asyncIterator](),
        );
        for (const stream of streams) await stream.next();
        await end(root, { id: token?.id ?? "", principal, end: until });
        const calls = await Promise.allSettled(clients.map(read));
        expect(calls, how).toEqual(
          clients.map(() => ({ status: "rejected", reason: expect.objectContaining(REFUSED) })),
        );
        for (const stream of streams)
          await expect(drained(stream), how).rejects.toMatchObject(REFUSED);
      }
  },
);

test(
  "an instance that was halted while a token was revoked refuses it when it continues",
  LONG,
  async (context) => {
    needs(postgresProgram("postgres"))(context);
    const [by, halted] = await startTwo();
    const root = as(by.port(), TOKEN);
    const { text, id } = await give(root, ["settings:read"]);
    const own = as(halted.port(), text);
    await read(own);
    process.kill(halted.pid, "SIGSTOP");
    const reading = read(own);
    await root.access.revokeToken({ id });
    process.kill(halted.pid, "SIGCONT");
    await expect(reading).rejects.toMatchObject(REFUSED);
    await expect(read(own)).rejects.toMatchObject(REFUSED);
  },
);
