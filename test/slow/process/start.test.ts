import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import {
  type MooringProcess,
  runMooring,
  startedMooring,
  TOKEN,
  testFolder,
} from "../../process/mooring.ts";
import { http1Sender } from "../../wire/transport/http.ts";

const TOKEN_LINE = /mooring-[\w-]{43}/;
const LIST = "/api/admin/setting/list";

async function codeFor({ port }: MooringProcess, authorization: string): Promise<unknown> {
  const { json } = await http1Sender(port())(LIST, { headers: { authorization } });
  return (json as { code: number }).code;
}

/** Retries only while nothing listens. */
async function codeOnceListening(port: number): Promise<unknown> {
  for (;;)
    try {
      const { json } = await http1Sender(port)(LIST, { headers: { authorization: TOKEN } });
      return (json as { code: number }).code;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ECONNREFUSED") throw error;
    }
}

describe("the first start", () => {
  test("creates a token and prints it once, on stderr; the second prints and changes nothing", async () => {
    const folder = await testFolder();
    const first = await startedMooring({ folder });
    const [token = ""] = TOKEN_LINE.exec(first.stderr()) ?? [];
    expect(first.stderr().trim().split("\n")).toHaveLength(1);
    expect(await codeFor(first, token)).toBe(200);
    await first.stop();
    expect(first.stdout()).not.toContain(token);

    const second = await startedMooring({ folder });
    expect(await codeFor(second, token)).toBe(200);
    await second.stop();
    expect(second.stderr()).toBe("");
    expect(second.stdout()).not.toContain(token);
  });

  test("with an invalid settings file creates no token yet: the next one prints it", async () => {
    const folder = await testFolder();
    const file = join(folder, "settings.yaml");
    await writeFile(file, "settings:\n  no_such_setting: 1\n");
    const env = { MOORING_SETTINGS_FILE: file };
    const first = runMooring({ folder, env });
    expect(await first.ended).toBe(1);
    expect(first.stderr()).not.toMatch(TOKEN_LINE);
    await writeFile(file, "settings:\n  site_title: Declared\n");
    const second = await startedMooring({ folder, env });
    const [token = ""] = TOKEN_LINE.exec(second.stderr()) ?? [];
    expect(await codeFor(second, token)).toBe(200);
  });

  test("with a port in use creates no token yet: the next one prints it", async () => {
    const folder = await testFolder();
    const other = await startedMooring();
    const env = { MOORING_GRPC_LISTEN: `127.0.0.1:${other.port()}` };
    const first = runMooring({ folder, env });
    expect(await first.ended).toBe(1);
    expect(first.stderr()).not.toMatch(TOKEN_LINE);
    const second = await startedMooring({ folder });
    const [token = ""] = TOKEN_LINE.exec(second.stderr()) ?? [];
    expect(await codeFor(second, token)).toBe(200);
  });

  test("stores a configured token, which is never printed; later starts change nothing", async () => {
    const folder = await testFolder();
    const first = await startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: TOKEN } });
    expect(await codeFor(first, TOKEN)).toBe(200);
    await first.stop();
    const other = `another-${TOKEN}`;
    const second = await startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: other } });
    expect(await codeFor(second, TOKEN)).toBe(200);
    expect(await codeFor(second, other)).toBe(401);
    await second.stop();
    for (const { stdout, stderr } of [first, second]) {
      expect(stderr()).toBe("");
      expect(stdout()).not.toContain(TOKEN);
    }
  });

  test("stores a configured token of every length that a saved one may have", async () => {
    const folder = await testFolder();
    const token = "t".repeat(512);
    const mooring = await startedMooring({ folder, env: { MOORING_ADMIN_TOKEN: token } });
    expect(await codeFor(mooring, token)).toBe(200);
    const longer = runMooring({ folder, env: { MOORING_ADMIN_TOKEN: `${token}t` } });
    expect(await longer.ended).toBe(2);
    expect(longer.stderr()).toContain("MOORING_ADMIN_TOKEN");
  });

  test("creates the data folder, with its parents", async () => {
    const folder = await testFolder();
    const data = join(folder, "a", "b");
    const mooring = await startedMooring({ folder, env: { MOORING_DATA_DIR: data } });
    expect((await readFile(join(data, "mooring.db"), "latin1")).slice(0, 15)).toBe(
      "SQLite format 3",
    );
    await mooring.stop();
  });
});

describe("the command line", () => {
  test("accepts connections from the first moment on, and refuses none", async () => {
    const port = await freePort();
    const env = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_LISTEN: `127.0.0.1:${port}` };
    const mooring = runMooring({ env });
    const calls = Array.from({ length: 5 }, () => codeOnceListening(port));
    expect(await Promise.all(calls)).toEqual([200, 200, 200, 200, 200]);
    await mooring.serving;
    await mooring.stop();
  });

  test("--version prints the version of the public settings", async () => {
    const folder = await testFolder();
    const asked = runMooring({ folder, args: ["--version"] });
    expect(await asked.ended).toBe(0);
    expect(asked.stdout()).toMatch(/^mooring v\d+\.\d+\.\d+\n$/);
    const mooring = await startedMooring({ folder });
    const { json } = await http1Sender(mooring.port())("/api/public/settings");
    const { version } = (json as { data: { version: string } }).data;
    expect(asked.stdout()).toBe(`mooring ${version}\n`);
  });

  test("--help lists every variable and starts nothing", async () => {
    const asked = runMooring({ args: ["--help"] });
    expect(await asked.ended).toBe(0);
    expect(asked.stdout()).toContain("--shutdown-grace");
    expect(asked.stdout()).toContain("MOORING_LISTEN");
    expect(asked.stderr()).toBe("");
  });

  test("a flag precedes the variable of its name", async () => {
    const args = ["--http-status", "code", "--log-level=debug"];
    const env = { MOORING_HTTP_STATUS: "envelope" };
    const mooring = await startedMooring({ args, env });
    expect((await http1Sender(mooring.port())(LIST)).status).toBe(401);
  });

  test("all errors are reported at once", async () => {
    const mooring = runMooring({
      args: ["--nonsense"],
      env: {
        MOORING_LISTEN: "127.0.0.1:99999",
        MOORING_LOG_LEVEL: "loud",
        MOORING_HTTP_STATUS: "teapot",
        MOORING_ADMIN_TOKEN: "Secret-short",
        MOORING_SHUTDOWN_GRACE: "soon",
        MOORING_LISTNE: "x",
      },
    });
    expect(await mooring.ended).toBe(2);
    const said = mooring.stderr();
    for (const name of ["LISTEN", "LOG_LEVEL", "HTTP_STATUS", "ADMIN_TOKEN", "SHUTDOWN_GRACE"])
      expect(said).toContain(`MOORING_${name}`);
    expect(said).toContain("--nonsense");
    expect(said).toMatch(/MOORING_LISTNE.*MOORING_LISTEN/);
    expect(said).not.toContain("Secret-short");
    expect(mooring.stdout()).toBe("");
  });
});

describe("a port in use", () => {
  test.each(["MOORING_LISTEN", "MOORING_GRPC_LISTEN"])(
    "is one sentence that names %s, and exit code 1",
    async (name) => {
      const server = createServer().listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      onTestFinished(() => void server.close());
      const address = server.address();
      const taken = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
      const mooring = runMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN, [name]: taken } });
      expect(await mooring.ended).toBe(1);
      expect(mooring.stderr()).toBe(
        `mooring: cannot listen at ${taken} (${name}): another program listens at this address; stop it, or choose another port\n`,
      );
    },
  );
});

test("a second start on the port of a Mooring says that it runs already", async () => {
  const running = await startedMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN } });
  const at = `127.0.0.1:${running.port()}`;
  const second = runMooring({ env: { MOORING_ADMIN_TOKEN: TOKEN, MOORING_LISTEN: at } });
  expect(await second.ended).toBe(1);
  expect(second.stderr()).toMatch(
    new RegExp(
      `^mooring: Mooring runs at ${at} already, .*\n.*"mooring status".*\n.*MOORING_LISTEN`,
    ),
  );
});

describe("two processes on one file", () => {
  test("see each other's saves at once, and each other's tokens", async () => {
    const folder = await testFolder();
    const env = { MOORING_ADMIN_TOKEN: TOKEN };
    const one = await startedMooring({ folder, env });
    const two = await startedMooring({ folder, env });
    const send = { one: http1Sender(one.port()), two: http1Sender(two.port()) };
    const headers = { authorization: TOKEN };
    for (const [writer, reader] of [
      ["one", "two"],
      ["two", "one"],
    ] as const) {
      const body = [{ key: "site_title", value: `by ${writer}` }];
      const saved = await send[writer]("/api/admin/setting/save", {
        method: "POST",
        body,
        headers,
      });
      expect(saved.json).toMatchObject({ code: 200 });
      const read = await send[reader]("/api/admin/setting/get?key=site_title", { headers });
      expect(read.json).toMatchObject({ data: { value: `by ${writer}` } });
    }
    const reset = await send.two("/api/admin/setting/reset_token", { method: "POST", headers });
    const { data: token } = reset.json as { data: string };
    expect(await codeFor(one, TOKEN)).toBe(401);
    expect(await codeFor(one, token)).toBe(200);
  });
});
