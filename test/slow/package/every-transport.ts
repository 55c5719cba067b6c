// A service in a package of another system, called over each transport.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { expect, onTestFinished } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";

export const TOKEN = "admin-token-of-this-test-0123456789";

/** How a package is started; `listen` is the value of MOORING_LISTEN. */
export interface Launch {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
}

/** A started service. */
interface Served {
  readonly url: string;
  /** Ends it gracefully. @returns its exit code. */
  stop(): Promise<unknown>;
}

/** Starts the service and waits until it serves; it is killed when the test ends. */
async function serve(launch: (port: number) => Launch): Promise<Served> {
  const port = await freePort();
  const { command, env, cwd } = launch(port);
  const [program = "", ...args] = command;
  const child = spawn(program, args, { cwd, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "exit");
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith("{") || JSON.parse(line).msg !== "serving") continue;
    child.stdout.resume();
    const stop = async (): Promise<unknown> => {
      child.kill("SIGTERM");
      const [code] = await ended;
      return code;
    };
    return { url: `http://127.0.0.1:${port}`, stop };
  }
  throw new Error(`it has ended: ${errors}`);
}

/**
 * Saves over one transport, reads over all, restarts, and reads again.
 *
 * @param probe launch of a program that ends with 0 while the service is healthy.
 */
export async function expectEveryTransport(
  launch: (port: number) => Launch,
  probe?: (port: number) => Launch,
): Promise<void> {
  const first = await serve(launch);
  if (probe !== undefined) {
    const { command, ...options } = probe(Number(new URL(first.url).port));
    const [program = "", ...args] = command;
    const { status, stderr } = spawnSync(program, args, { ...options, encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
  }
  const headers = { authorization: TOKEN, "content-type": "application/json" };
  const saved = await fetch(`${first.url}/api/admin/setting/save`, {
    method: "POST",
    headers,
    body: JSON.stringify([{ key: "site_title", value: "Harbour" }]),
  });
  expect(await saved.json()).toMatchObject({ code: 200 });
  await expectTitle(first.url);
  expect(await first.stop()).toBe(0);
  const second = await serve(launch);
  await expectTitle(second.url);
  expect(await second.stop()).toBe(0);
}

async function expectTitle(baseUrl: string): Promise<void> {
  const rest = await fetch(`${baseUrl}/api/public/settings`);
  expect(await rest.json()).toMatchObject({ code: 200, data: { site_title: "Harbour" } });
  const transports: Readonly<Record<string, Transport>> = {
    connect: createConnectTransport({ baseUrl, httpVersion: "1.1" }),
    grpc: createGrpcTransport({ baseUrl }),
    "grpc-web": createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  };
  for (const [name, transport] of Object.entries(transports)) {
    const client: Client<typeof SettingService> = createClient(SettingService, transport);
    const reply = await client.getSetting(
      { key: "site_title" },
      { headers: { authorization: TOKEN } },
    );
    expect([name, reply.setting?.value]).toEqual([name, "Harbour"]);
  }
}
