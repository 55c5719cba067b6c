import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { needs } from "../../downloaders/program.ts";
import { runMooring } from "../../process/mooring.ts";

const token = "metrics-test-token-0123456789abcdefgh";
const env = { MOORING_METRICS_LISTEN: "127.0.0.1:0", MOORING_ADMIN_TOKEN: token };

/** A service after some calls, one of each kind, with an open stream. */
async function busyService(workers: string) {
  const line = workers === "1" ? "serving" : "all workers serve";
  const mooring = runMooring({ env: { ...env, MOORING_WORKERS: workers } });
  const { listen, metrics } = (await mooring.logged(({ msg }) => msg === line)) as {
    listen: string;
    metrics: string;
  };
  const at = `http://${listen}`;
  const headers = { authorization: token };
  for (let call = 0; call < 4; call += 1) await fetch(`${at}/api/public/settings`);
  await fetch(`${at}/api/admin/setting/list`);
  await fetch(`${at}/api/admin/setting/get?key=token`, { headers });
  await fetch(`${at}/api/admin/setting/save`, {
    method: "POST",
    headers: { ...headers, "content-type": "application/json" },
    body: '[{"key":"site_title","value":"Harbour"}]',
  });
  const stream = await fetch(`${at}/api/public/settings/watch`);
  await stream.body?.getReader().read();
  const reply = await fetch(`http://${metrics}/metrics`);
  return { mooring, metrics, type: reply.headers.get("content-type"), text: await reply.text() };
}

/** The value of a sample whose labels contain these. */
function sample(text: string, name: string, labels: Record<string, string> = {}): number {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text.split("\n").find((one) => {
    const [, found = "", inside = ""] = /^(\w+)(?:\{(.*)\})? /.exec(one) ?? [];
    return found === name && pairs.every((label) => inside.includes(label));
  });
  return Number(line?.split(" ").at(-1));
}

describe.each(["1", "2"])("metrics of %s process(es)", (workers) => {
  let text: string;

  test("are served alone at their address", async () => {
    const service = await busyService(workers);
    text = service.text;
    expect(service.type).toContain("text/plain");
    expect((await fetch(`http://${service.metrics}/api/public/settings`)).status).toBe(404);
    service.mooring.kill("SIGTERM");
    expect(await service.mooring.ended).toBe(0);
  });

  test("count every call at its begin and end, and have no secret", () => {
    const settings = {
      grpc_service: "mooring.v1.PublicService",
      grpc_method: "GetPublicSettings",
      grpc_type: "unary",
      transport: "rest",
    };
    expect(sample(text, "grpc_server_started_total", settings)).toBe(4);
    expect(sample(text, "grpc_server_handled_total", { ...settings, grpc_code: "OK" })).toBe(4);
    expect(sample(text, "grpc_server_handling_seconds_count", settings)).toBe(4);
    const refused = { grpc_method: "ListSettings", grpc_code: "Unauthenticated" };
    expect(sample(text, "grpc_server_handled_total", refused)).toBe(1);
    expect(sample(text, "mooring_refused_tokens_total", { transport: "rest" })).toBe(1);
    expect(text).not.toContain(token);
  });

  test("exclude streams from the durations, and count open ones", () => {
    const watch = { grpc_method: "WatchPublicSettings", grpc_type: "server_streaming" };
    expect(sample(text, "grpc_server_started_total", watch)).toBe(1);
    expect(sample(text, "grpc_server_handling_seconds_count", watch)).toBeNaN();
    expect(sample(text, "mooring_watchers")).toBe(1);
  });

  test("have the version, the revision, and the latency of the database", () => {
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(sample(text, "mooring_build_info", { version: `v${version}` })).toBe(1);
    expect(sample(text, "mooring_revision")).toBe(2);
    expect(sample(text, "mooring_store_commit_seconds_count")).toBeGreaterThan(0);
    expect(sample(text, "process_resident_memory_bytes")).toBeGreaterThan(0);
  });

  test("are accepted by promtool", (context) => {
    needs("promtool")(context);
    const checked = spawnSync("promtool", ["check", "metrics"], { input: text, encoding: "utf8" });
    expect(checked.stdout + checked.stderr).toBe("");
    expect(checked.status).toBe(0);
  });
});
