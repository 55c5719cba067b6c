import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runMooring } from "./mooring.ts";

test.each([
  { workers: "1", line: "serving" },
  { workers: "2", line: "all workers serve" },
])(
  "metrics of $workers process(es) count every call, and hold no secret",
  async ({ workers, line }) => {
    const folder = await mkdtemp(join(tmpdir(), "mooring-metrics-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const token = "metrics-test-token-0123456789abcdefgh";
    const env = {
      MOORING_WORKERS: workers,
      MOORING_METRICS_LISTEN: "127.0.0.1:0",
      MOORING_ADMIN_TOKEN: token,
    };
    const mooring = runMooring({ folder, env });
    const { listen, metrics } = (await mooring.logged(({ msg }) => msg === line)) as {
      listen: string;
      metrics: string;
    };
    for (let call = 0; call < 4; call += 1) await fetch(`http://${listen}/api/public/settings`);
    await fetch(`http://${listen}/api/admin/setting/list`);
    await fetch(`http://${listen}/api/admin/setting/get?key=token`, {
      headers: { authorization: token },
    });

    const reply = await fetch(`http://${metrics}/metrics`);
    const text = await reply.text();
    expect(reply.headers.get("content-type")).toContain("text/plain");
    expect(text).toContain(count("PublicService/GetPublicSettings", "OK", 4));
    expect(text).toContain(count("SettingService/ListSettings", "Unauthenticated", 1));
    expect(text).toContain("mooring_call_duration_seconds_bucket");
    expect(text).toContain("process_resident_memory_bytes");
    expect(text).not.toContain(token);
    expect((await fetch(`http://${metrics}/api/public/settings`)).status).toBe(404);
    mooring.kill("SIGTERM");
    expect(await mooring.ended).toBe(0);
  },
);

function count(method: string, code: string, calls: number): string {
  return `mooring_calls_total{door="rest",method="mooring.v1.${method}",code="${code}"} ${calls}`;
}
