// Prints the size of the repository by folder, and the number of src files that one request
// executes; with --files also their names.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import type { Readable } from "node:stream";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { WebSocket } from "ws";
import { PublicService } from "../gen/mooring/v1/public_service_pb.js";

const root = join(import.meta.dirname, "..");
const TOKEN = "the-admin-token-of-a-measured-process";
/**
 * Number of requests before the measurement, so that lazy parts exist and the connection is open.
 */
const WARM = 50;
/**
 * Number of measured requests: files that run in each of them count, because background work runs
 * in some.
 */
const MEASURED = 8;

/** Sizes of each folder of src, of its general parts, and of the other folders. */
export function sizes(): readonly ReturnType<typeof sizeOf>[] {
  const source = globSync("src/**/*.{ts,tsx}", { cwd: root })
    .map((file) => file.split(sep).join("/"))
    .filter((file) => !file.startsWith("src/data/"));
  const folders = Map.groupBy(source, (file) => file.split("/").slice(0, 2).join("/"));
  const general = source.filter((file) => /^src\/(?:gateway|transport|proxy)\//.test(file));
  const beside = globSync("{bench,tools}/**/*.{ts,mjs}", { cwd: root });
  return [
    ...[...folders].sort().map(([name, files]) => sizeOf(name, files)),
    sizeOf("src", source),
    sizeOf("gateway + transport + proxy", general),
    sizeOf("bench + tools", beside),
    sizeOf("test", globSync("test/**/*.{ts,tsx}", { cwd: root })),
  ];
}

function sizeOf(name: string, files: readonly string[]) {
  const lines = files.map((file) => readFileSync(join(root, file), "utf8").split("\n").length - 1);
  return { name, files: files.length, lines: lines.reduce((sum, each) => sum + each, 0) };
}

/** Functions of a script as in `Profiler.takePreciseCoverage`. */
interface Script {
  readonly url: string;
  readonly functions: readonly {
    readonly functionName: string;
    readonly ranges: readonly { readonly count: number }[];
  }[];
}

/**
 * Files of src in which a named function runs during one request on a warm connection: V8's precise
 * coverage of a service that runs from its sources, in each of eight requests of a kind.
 */
export async function executedFiles(): Promise<ReadonlyMap<string, readonly string[]>> {
  const folder = mkdtempSync(join(tmpdir(), "mooring-structure-"));
  const service = spawn(process.execPath, ["--inspect=127.0.0.1:0", join(root, "src/main.ts")], {
    env: {
      MOORING_LISTEN: "127.0.0.1:0",
      MOORING_LOG_FORMAT: "json",
      MOORING_DATA_DIR: folder,
      MOORING_ADMIN_TOKEN: TOKEN,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(service, "exit");
  try {
    const send = await connect(await printed(service.stderr, /^Debugger listening on (ws:\S+)/m));
    const address = `http://${await printed(service.stdout, /"listen":"([^"]+)"/)}`;
    await send("Profiler.enable");
    await send("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const found = new Map<string, readonly string[]>();
    for (const [name, call] of Object.entries(requestsTo(address))) {
      for (let sent = 0; sent < WARM; sent += 1) await call();
      const rounds: string[][] = [];
      for (let round = 0; round < MEASURED; round += 1) {
        await send("Profiler.takePreciseCoverage");
        await call();
        rounds.push(filesOf(await send("Profiler.takePreciseCoverage")));
      }
      found.set(
        name,
        rounds.reduce((all, files) => all.filter((file) => files.includes(file))),
      );
    }
    return found;
  } finally {
    service.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}

function requestsTo(address: string): Readonly<Record<string, () => Promise<unknown>>> {
  const rest = async (path: string, options: RequestInit = {}): Promise<void> => {
    const text = await (await fetch(`${address}${path}`, options)).text();
    if (JSON.parse(text).code !== 200) throw new Error(`${path} is answered ${text}`);
  };
  const headers = { authorization: TOKEN, "content-type": "application/json" };
  const grpc = createClient(PublicService, createGrpcTransport({ baseUrl: address }));
  let saves = 0;
  return {
    "REST read of the public settings": () => rest("/api/public/settings"),
    "get?key=": () => rest("/api/admin/setting/get?key=site_title", { headers }),
    save: () => {
      saves += 1;
      const body = JSON.stringify([{ key: "site_title", value: `title ${saves}` }]);
      return rest("/api/admin/setting/save", { method: "POST", headers, body });
    },
    "gRPC read": () => grpc.getPublicSettings({}),
  };
}

function filesOf(scripts: readonly Script[]): string[] {
  const run = scripts.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== "" && ranges[0]?.count),
  );
  return run.flatMap(({ url }) => /\/(src\/.*)$/.exec(url)?.[1] ?? []).sort();
}

/** Waits for the first match in a process's output. */
async function printed(output: Readable, pattern: RegExp): Promise<string> {
  let text = "";
  for await (const part of output.iterator({ destroyOnReturn: false })) {
    text += String(part);
    const [, found] = pattern.exec(text) ?? [];
    if (found !== undefined) return found;
  }
  throw new Error(`the service ended before it served: ${text}`);
}

/**
 * Connects to the inspector. @returns a function that sends one command and returns its `result`.
 */
async function connect(address: string) {
  const socket = new WebSocket(address);
  await once(socket, "open");
  return async (method: string, params = {}): Promise<readonly Script[]> => {
    socket.send(JSON.stringify({ id: 1, method, params }));
    const [reply] = await once(socket, "message");
    return JSON.parse(String(reply)).result.result;
  };
}

if (import.meta.main) {
  const row = (name: string, ...figures: readonly number[]): string =>
    name.padEnd(34) + figures.map((figure) => String(figure).padStart(8)).join("");
  const executed = [...(await executedFiles())].flatMap(([name, files]) => [
    row(name, files.length),
    ...(process.argv.includes("--files") ? files : []),
  ]);
  const rows = [...sizes().map(({ name, files, lines }) => row(name, files, lines)), ...executed];
  process.stdout.write(`${rows.join("\n")}\n`);
}
