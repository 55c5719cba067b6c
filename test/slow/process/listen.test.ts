import { readFile, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Client, credentials } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { runMooring, startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const env = { MOORING_ADMIN_TOKEN: TOKEN };
const headers = { authorization: TOKEN };

function pingAt(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: "/ping", agent: false });
    outgoing.on("response", (incoming) => text(incoming).then(resolve, reject));
    outgoing.on("error", reject).end();
  });
}

function grpcPingAt(target: string): Promise<string> {
  const client = new Client(target, credentials.createInsecure());
  const same = (bytes: Buffer): Buffer => bytes;
  return new Promise<string>((resolve, reject) => {
    const path = "/mooring.v1.PublicService/Ping";
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), (error, reply) =>
      reply === undefined ? reject(error) : resolve(reply.toString("latin1")),
    );
  }).finally(() => client.close());
}

describe("a Unix socket", () => {
  test("serves every protocol, and is removed at the end", async () => {
    const folder = await testFolder();
    const path = join(folder, "mooring.sock");
    const mooring = await startedMooring({
      folder,
      env: { ...env, MOORING_LISTEN: `unix:${path}` },
    });
    expect(await pingAt(path)).toBe("pong");
    expect(await grpcPingAt(`unix:${path}`)).toContain("pong");
    await mooring.stop();
    await expect(pingAt(path)).rejects.toThrow("ENOENT");
  });

  test("that a killed process has left is used again", async () => {
    const folder = await testFolder();
    const path = join(folder, "mooring.sock");
    const options = { folder, env: { ...env, MOORING_LISTEN: `unix:${path}` } };
    const killed = await startedMooring(options);
    killed.kill("SIGKILL");
    await killed.ended;
    const next = await startedMooring(options);
    expect(await pingAt(path)).toBe("pong");
    await next.stop();
  });

  test.each([
    { what: "only the service's user", mode: 0o600 },
    { what: "permitted users", asked: "0660", mode: 0o660 },
    { what: "only the service's user, with workers", mode: 0o600, workers: "2" },
    { what: "permitted users, with workers", asked: "0660", mode: 0o660, workers: "2" },
  ])("admits $what, with any umask", async ({ mode, asked = "", workers = "1" }) => {
    const folder = await testFolder();
    const [shared, grpc] = ["mooring.sock", "grpc.sock"].map((name) => join(folder, name));
    const before = process.umask(0);
    const mooring = runMooring({
      folder,
      env: {
        ...env,
        MOORING_LISTEN: `unix:${shared}`,
        MOORING_GRPC_LISTEN: `unix:${grpc}`,
        MOORING_SOCKET_MODE: asked,
        MOORING_WORKERS: workers,
      },
    });
    process.umask(before);
    const line = workers === "1" ? "serving" : "all workers serve";
    await mooring.logged(({ msg }) => msg === line);
    for (const path of [shared ?? "", grpc ?? ""])
      expect((await stat(path)).mode & 0o777).toBe(mode);
    await mooring.stop();
  });

  test("of another running program is not replaced", async () => {
    const folder = await testFolder();
    const path = join(folder, "mooring.sock");
    const options = { folder, env: { ...env, MOORING_LISTEN: `unix:${path}` } };
    await startedMooring(options);
    const second = runMooring(options);
    expect(await second.ended).toBe(1);
    expect(second.stderr()).toMatch(/MOORING_LISTEN.*another program listens at this address/);
    expect(await pingAt(path)).toBe("pong");
  });

  test("does not replace a file", async () => {
    const folder = await testFolder();
    const path = join(folder, "precious.txt");
    await writeFile(path, "precious");
    const mooring = runMooring({ folder, env: { ...env, MOORING_LISTEN: `unix:${path}` } });
    expect(await mooring.ended).toBe(1);
    expect(mooring.stderr()).toMatch(/^mooring: cannot listen at .*\(MOORING_LISTEN\): .*\n$/);
    expect(await readFile(path, "utf8")).toBe("precious");
  });
});

describe("MOORING_WORKERS", () => {
  const workers = { ...env, MOORING_WORKERS: "2" };
  const READ = "/api/admin/setting/get?key=site_title";

  test("serves by several processes, which agree on everything", async () => {
    const mooring = await startedMooring({ env: workers });
    await mooring.logged(({ msg }) => msg === "all workers serve");
    const send = http1Sender(mooring.port());
    for (let round = 0; round < 6; round += 1) {
      const body = [{ key: "site_title", value: `round ${round}` }];
      await send("/api/admin/setting/save", { method: "POST", body, headers });
      for (let read = 0; read < 4; read += 1)
        expect((await send(READ, { headers })).json).toMatchObject({
          data: { value: `round ${round}` },
        });
    }
    const reset = await send("/api/admin/setting/reset_token", { method: "POST", headers });
    const { data: token } = reset.json as { data: string };
    for (let read = 0; read < 4; read += 1) {
      expect((await send(READ, { headers })).json).toMatchObject({ code: 401 });
      const fresh = { authorization: token };
      expect((await send(READ, { headers: fresh })).json).toMatchObject({ code: 200 });
    }
    await mooring.stop();
    expect(mooring.stderr()).toBe("");
  });

  test("prints the token of a new database once", async () => {
    const mooring = await startedMooring({ env: { MOORING_WORKERS: "2" } });
    await mooring.logged(({ msg }) => msg === "all workers serve");
    await mooring.stop();
    expect(mooring.stderr().match(/mooring-[\w-]{43}/g)).toHaveLength(1);
  });

  test("reports once why it cannot start", async () => {
    const folder = await testFolder();
    const url = `sqlite:${join(folder, "missing", "mooring.db")}`;
    const mooring = runMooring({ folder, env: { ...workers, MOORING_DATABASE_URL: url } });
    expect(await mooring.ended).toBe(1);
    expect(mooring.stderr().match(/does not exist/g)).toHaveLength(1);
  });
});
