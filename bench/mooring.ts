import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { PublicService } from "../gen/mooring/v1/public_service_pb.js";
import { MALLOC, NODE_FLAGS } from "../src/app/memory-settings.ts";
import { callHttp, type HttpRequest, pathOf } from "./call.ts";
import type { Lab } from "./experiment.ts";
import { freePort, until } from "./port.ts";
import { LOAD_CORE, type Running, SERVER_CORE, type Stage } from "./stage.ts";

const root = join(import.meta.dirname, "..");
/** Folder where Node finds packages outside of the bundle. */
const folder = join(root, "node_modules/.cache/mooring-package");

/** Program in the repository. */
export const SOURCE = join(root, "src/main.ts");

/** Builds the same package as `npm run build`, and returns its program. */
export async function makePackage(stage: Stage): Promise<string> {
  const args = [join(root, "tools/build.ts"), folder];
  await stage.run({ program: process.execPath, args, cores: LOAD_CORE });
  return join(folder, "src/main.js");
}

/** Mooring as packaged, with its own database. */
export interface Mooring {
  readonly server: Running;
  readonly port: number;
  readonly token: string;
}

/** Options of a start. */
interface MooringOptions {
  readonly cores?: string;
  readonly nodeFlags?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** An existing data folder; a fresh one when absent. */
  readonly folder?: string;
}

/** What a start needs of a lab. */
type Program = Pick<Lab, "stage" | "server">;

/** Settings of one save: the contract's limit. */
const BATCH = 1_000;

/** Starts the server and waits until it answers with settings. */
export async function startMooring(lab: Program, options: MooringOptions = {}): Promise<Mooring> {
  const started = await launchMooring(lab, options);
  const { server, port } = started;
  // In front of a server, the REST route is the server's at first.
  const path = pathOf(PublicService.method.getPublicSettings);
  const headers = { "Content-Type": "application/json" };
  const ready = () => {
    server.assertAlive();
    return succeeds({ port, path, method: "POST", headers, body: "{}" });
  };
  await until(ready, () => `Mooring does not answer:\n${server.tail()}`);
  return started;
}

/** Starts the server as the launchers of the archives and the image do, without waiting. */
export async function launchMooring(lab: Program, options: MooringOptions = {}): Promise<Mooring> {
  const port = await freePort();
  const token = randomBytes(32).toString("hex");
  const server = lab.stage.start({
    program: process.execPath,
    args: [...NODE_FLAGS, ...(options.nodeFlags ?? []), lab.server],
    environment: {
      ...MALLOC,
      NODE_ENV: "production",
      MOORING_LISTEN: `127.0.0.1:${port}`,
      MOORING_DATA_DIR: options.folder ?? lab.stage.folder(),
      MOORING_ADMIN_TOKEN: token,
      MOORING_LOG_FORMAT: "json",
      MOORING_METRICS_LISTEN: "127.0.0.1:0",
      // Experiments with thousands of settings exceed the default bounds.
      MOORING_MAX_CUSTOM_SETTINGS: "100000",
      MOORING_MAX_SETTINGS: "64MiB",
      ...options.environment,
    },
    cores: options.cores ?? SERVER_CORE,
  });
  return { server, port, token };
}

/** Saves `count` custom settings, `bench_0` and so on. */
export async function addCustomSettings(mooring: Mooring, count: number): Promise<void> {
  for (let start = 0; start < count; start += BATCH) {
    const settings = Array.from({ length: Math.min(BATCH, count - start) }, (_, offset) => ({
      key: `bench_${start + offset}`,
      value: `value of setting ${start + offset}`,
      help: "A setting that the bench made.",
    }));
    await callAdmin(mooring, "/api/admin/setting/save", settings);
  }
}

/** Calls a REST route, with a POST if there is a body. @throws Error unless its envelope is good. */
export async function callAdmin(
  { port, token }: Pick<Mooring, "port" | "token">,
  path: string,
  body?: object,
): Promise<{ readonly headers: Headers; readonly data: unknown }> {
  const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: token, "content-type": "application/json" },
    ...(body && { method: "POST", body: JSON.stringify(body) }),
  });
  const { code, message, data } = (await reply.json()) as Envelope;
  if (code !== 200) throw new Error(`${path}: ${message}`);
  return { headers: reply.headers, data };
}

interface Envelope {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

/** Reports whether a request is answered with the status 200. */
export async function succeeds(request: HttpRequest): Promise<boolean> {
  try {
    return (await callHttp(request)).status === 200;
  } catch {
    return false;
  }
}
