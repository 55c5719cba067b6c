import { once } from "node:events";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { create } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { describe, expect, test } from "vitest";
import { GetSettingResponseSchema } from "../../gen/mooring/v1/setting_service_pb.js";
import { readServiceAddress } from "../../src/cli/connection.ts";
import { startedForAll } from "../started.ts";
import { newFolder } from "../store/folder.ts";
import { failure, startFake } from "./fake-service.ts";
import { startService } from "./service.ts";
import { run } from "./world.ts";

const folder = startedForAll(newFolder);

describe("the service address", () => {
  const read = (flag?: string, variable?: string, env = {}, anonymous = false) =>
    readServiceAddress(flag, {
      world: { env: { MOORING_ADDRESS: variable, ...env }, cwd: "/srv" },
      anonymous,
    });

  test.each([
    ["files.example:5244", "http://files.example:5244"],
    [":80", "http://127.0.0.1:80"],
    ["[::1]:5244", "http://[::1]:5244"],
    ["https://files.example", "https://files.example"],
    ["http://[::1]:8443/", "http://[::1]:8443"],
    ["http://files.example:8080", "http://files.example:8080"],
  ])("%s is called as %s", (text, url) => {
    expect(read(text)).toMatchObject({ url });
  });

  test("may be a socket, whose path is relative to the working folder", () => {
    expect(read("unix:run/mooring.sock")).toMatchObject({ socket: "/srv/run/mooring.sock" });
  });

  test("is the flag, else the variable, else the default address", () => {
    expect(read("a:1", "b:2").url).toBe("http://a:1");
    expect(read(undefined, "b:2").url).toBe("http://b:2");
    expect(read(undefined, " ").url).toBe("http://127.0.0.1:5244");
  });

  test.each([
    [{ MOORING_LISTEN: "127.0.0.1:8080" }, { url: "http://127.0.0.1:8080" }],
    [{ MOORING_LISTEN: ":8080" }, { url: "http://127.0.0.1:8080" }],
    [{ MOORING_LISTEN: "0.0.0.0:8080" }, { url: "http://127.0.0.1:8080" }],
    [{ MOORING_LISTEN: "[::]:8080" }, { url: "http://[::1]:8080" }],
    [{ MOORING_LISTEN: "unix:run/mooring.sock" }, { socket: "/srv/run/mooring.sock" }],
    [
      { MOORING_LISTEN: "unix:/run/x.sock", MOORING_GRPC_LISTEN: "127.0.0.1:50051" },
      { url: "http://127.0.0.1:50051" },
    ],
    [{ MOORING_LISTEN: "b:2", MOORING_ADDRESS: "a:1" }, { url: "http://a:1" }],
  ])("is that of a service with the same variables: %j", (env, at) => {
    expect(read(undefined, undefined, env)).toMatchObject(at);
  });

  test("of a service with TLS needs the name in its certificate when a secret is sent", () => {
    const env = { MOORING_LISTEN: ":8443", MOORING_TLS_CERT_FILE: "/etc/tls.pem" };
    expect(() => read(undefined, undefined, env)).toThrow(
      "set MOORING_ADDRESS to https://NAME:PORT with the name of the certificate",
    );
    expect(read(undefined, undefined, env, true)).toMatchObject({
      url: "https://127.0.0.1:8443",
      isUnnamed: true,
    });
    expect(read(undefined, "https://files.example:8443", env)).not.toHaveProperty("isUnnamed");
  });

  test.each([
    [{ MOORING_LISTEN: "127.0.0.1:0" }, 'MOORING_LISTEN "127.0.0.1:0" has port 0'],
    [{ MOORING_LISTEN: "8080" }, 'MOORING_LISTEN "8080" is not a host and port'],
  ])("cannot be derived from %j", (env, message) => {
    expect(() => read(undefined, undefined, env)).toThrow(message);
  });

  test.each([
    "5244",
    "files.example",
    "a:0",
    "https://user:secret@host",
    "https://host/path",
    "https://127.0.0.1",
  ])("%s is refused with exit code 2, without its password", async (address) => {
    const { code, err } = await run(["list", "--address", address, "--token", "t"]);
    expect(code).toBe(2);
    expect(err).toContain("--address");
    expect(err).not.toContain("secret");
  });
});

describe("the token", () => {
  test("is required before any call", async () => {
    const { code, err } = await run(["list"]);
    expect(code).toBe(5);
    expect(err).toContain("MOORING_TOKEN_FILE");
  });

  test("is read from a file, and a flag precedes any variable", async () => {
    await writeFile(folder.at("token"), "from-the-file\n");
    const fake = await startFake({
      getSetting: () => failure(status.UNAUTHENTICATED, "the admin token is wrong"),
    });
    const env = { MOORING_ADDRESS: fake.address, MOORING_TOKEN: "from-the-variable" };
    const args = ["get", "site_title", "--token-file", "token"];
    const { code, err } = await run(args, { env, cwd: folder.path });
    fake.stop();
    expect(code).toBe(5);
    expect(err).toContain(`${fake.address} refused the token of --token-file "token"`);
    expect(err).not.toContain("from-the");
  });

  test.each([
    ["a file that is missing", { MOORING_TOKEN_FILE: "/nowhere/token" }, "there is no such file"],
    ["two sources", { MOORING_TOKEN: "a", MOORING_TOKEN_FILE: "b" }, "are both given"],
    [
      "a character that is not allowed in a header",
      { MOORING_TOKEN: "ä-secret" },
      "a character that is not allowed in a token",
    ],
  ])("is refused with exit code 2 for %s", async (_what, env, reason) => {
    const { code, err } = await run(["list"], { env });
    expect(code).toBe(2);
    expect(err).toContain(reason);
    expect(err).not.toContain("ä-secret");
  });
});

describe("a service that cannot be reached", () => {
  const ask = (env: Record<string, string>, ...args: string[]) =>
    run(["get", "site_title", ...args], { env });

  test("is reported with its address when the connection is refused", async () => {
    const fake = await startFake({});
    fake.stop();
    const { code, err } = await ask(fake.env);
    expect(code).toBe(6);
    expect(err).toContain(`no service answers at ${fake.address} (nothing listens there)`);
    expect(err).toContain("check that it is running");
  });

  test("is distinguished from a missing socket or an unknown host", async () => {
    const socket = await ask({ MOORING_TOKEN: "t", MOORING_ADDRESS: "unix:/nowhere/socket" });
    expect(socket).toMatchObject({ code: 6, err: expect.stringContaining("no such socket") });
    const name = await ask({ MOORING_TOKEN: "t", MOORING_ADDRESS: "no-such-host.invalid:1" });
    expect(name).toMatchObject({
      code: 6,
      err: expect.stringContaining("the host name is unknown"),
    });
  });

  test("ends the command after --timeout", async () => {
    const fake = await startFake({ getSetting: () => undefined });
    const { code, err } = await ask(fake.env, "--timeout", "100ms");
    fake.stop();
    expect(code).toBe(6);
    expect(err).toContain("did not answer within 100 ms");
    expect((await ask(fake.env, "--timeout", "100")).code).toBe(2);
    expect((await ask(fake.env, "--timeout", "0s")).code).toBe(2);
  });

  test("is reported with its own message when it sends one", async () => {
    const fake = await startFake({
      getSetting: () => failure(status.UNAVAILABLE, "the service is starting"),
    });
    const { code, err } = await ask(fake.env);
    fake.stop();
    expect({ code, err }).toEqual({ code: 6, err: "mooring get: the service is starting\n" });
  });

  test.each([
    ["", "does not use HTTP/2"],
    ["https://", "does not use TLS"],
  ])("is distinguished from another server at %slocalhost", async (scheme, reason) => {
    const server = createServer((_request, response) => response.end("hello"));
    const address = `${scheme}localhost:${await listen(server)}`;
    const ended = await ask({ MOORING_TOKEN: "t", MOORING_ADDRESS: address });
    server.close();
    expect(ended).toMatchObject({ code: 6, err: expect.stringContaining(reason) });
  });

  test.each(["", "http://"])(
    "at %slocalhost that uses TLS is reported with the advice",
    async (scheme) => {
      const server = createTlsServer();
      const address = `${scheme}localhost:${await listen(server)}`;
      const ended = await ask({ MOORING_TOKEN: "t", MOORING_ADDRESS: address });
      server.close();
      expect(ended).toMatchObject({
        code: 6,
        err: expect.stringContaining("if it uses TLS, write its address with https://"),
      });
    },
  );

  async function listen(server: Server): Promise<number> {
    await once(server.listen(0, "localhost"), "listening");
    return (server.address() as AddressInfo).port;
  }

  test("is distinguished from a server that is not Mooring", async () => {
    const fake = await startFake({});
    const { code, err } = await ask(fake.env);
    fake.stop();
    expect(code).toBe(1);
    expect(err).toContain("check that it is a Mooring");
  });
});

test("a service on a Unix socket is called there", async () => {
  const socket = folder.at("mooring.sock");
  const service = await startService({ MOORING_GRPC_LISTEN: `unix:${socket}` });
  const env = { MOORING_ADDRESS: `unix:${socket}` };
  const { code, out } = await service.cli(["get", "site_title"], { env });
  await service.remove();
  expect({ code, out }).toEqual({ code: 0, out: "OpenList\n" });
});

test("control characters in replies do not reach the terminal", async () => {
  const fake = await startFake({
    getSetting: () => failure(status.FAILED_PRECONDITION, "bad\u001b]0;title\u0007"),
  });
  const { err } = await run(["get", "x"], { env: fake.env, terminal: 80 });
  fake.stop();
  expect(err).toBe("mooring get: bad\\u001b]0;title\\u0007\n");
});

test("a value is sent unchanged at any length", async () => {
  const value = "é".repeat(3_000_000);
  const fake = await startFake({
    getSetting: () => create(GetSettingResponseSchema, { setting: { key: "x", value } }),
  });
  const { out } = await run(["get", "x"], { env: fake.env });
  fake.stop();
  expect(out).toBe(`${value}\n`);
});

test("the service accepts every variable that commands read", async () => {
  const { cliVariables } = await import("../../src/cli/world.ts");
  const folderOf = new URL("../../src/cli/", import.meta.url);
  const text = ["connection.ts", "secret.ts"]
    .map((name) => readFileSync(new URL(name, folderOf), "utf8"))
    .join("");
  const read = text.matchAll(/const \{ ([A-Z_, ]+) \} = world\.env/g);
  const names = [...read].flatMap(([, list = ""]) => list.split(", "));
  expect(new Set(names)).toEqual(new Set(cliVariables));
});
