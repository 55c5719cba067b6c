import { execFile } from "node:child_process";
import { copyFileSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { request } from "node:https";
import { connect as connectTcp } from "node:net";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { Client, credentials } from "@grpc/grpc-js";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { run as runCommand } from "../../cli/world.ts";
import { needs } from "../../downloaders/program.ts";
import { startedForAll } from "../../started.ts";
import { makeAuthority, type Pair } from "../../wire/certificate.ts";
import { startService, type TestService, TOKEN } from "../../wire/service.ts";

const authority = startedForAll(makeAuthority);
let first: Pair;
let second: Pair;
let client: Pair;

beforeEach(needs("openssl"));
beforeAll(async () => {
  [first, second, client] = await Promise.all([
    authority.issue("first"),
    authority.issue("second"),
    authority.issue("client", { days: 3 }),
  ]);
});

function envOf({ certificate, key }: Pair): Record<string, string> {
  return { MOORING_TLS_CERT_FILE: certificate, MOORING_TLS_KEY_FILE: key };
}

async function start(env: Record<string, string>): Promise<TestService> {
  const service = await startService({ env });
  onTestFinished(service.stop);
  return service;
}

/** Output of `openssl s_client` on a connection, and whether it succeeded. */
function sClient(port: number, ...args: string[]): Promise<{ ok: boolean; text: string }> {
  return new Promise((resolve) => {
    const all = ["s_client", "-connect", `127.0.0.1:${port}`, "-CAfile", authority.certificate];
    const child = execFile("openssl", [...all, ...args], { timeout: 20_000 }, (error, out, err) =>
      resolve({ ok: error === null, text: `${out}${err}` }),
    );
    child.stdin?.end();
  });
}

describe("the port over TLS", () => {
  const service = startedForAll(() => startService({ env: envOf(first) }));

  test.each<[string, (baseUrl: string, ca: Buffer) => Transport]>([
    [
      "Connect over HTTP/1.1",
      (baseUrl, ca) => createConnectTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
    ],
    [
      "Connect over HTTP/2",
      (baseUrl, ca) => createConnectTransport({ baseUrl, httpVersion: "2", nodeOptions: { ca } }),
    ],
    ["gRPC", (baseUrl, ca) => createGrpcTransport({ baseUrl, nodeOptions: { ca } })],
    [
      "gRPC-Web",
      (baseUrl, ca) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", nodeOptions: { ca } }),
    ],
  ])("serves %s, and refuses a client without the token", async (_name, open) => {
    const transport = open(
      `https://localhost:${service.port}`,
      readFileSync(authority.certificate),
    );
    const settings = createClient(SettingService, transport);
    await expect(settings.getSetting({ key: "site_title" })).rejects.toThrow("missing token");
    const { setting } = await settings.getSetting(
      { key: "site_title" },
      { headers: { authorization: TOKEN } },
    );
    expect(setting?.value).toBe("OpenList");
  });

  test("serves a client of grpc-js", async () => {
    const ssl = credentials.createSsl(readFileSync(authority.certificate));
    const grpc = new Client(`localhost:${service.port}`, ssl);
    const bytes = await new Promise((resolve, reject) =>
      grpc.makeUnaryRequest(
        `/${PublicService.typeName}/Ping`,
        () => Buffer.alloc(0),
        (reply: Buffer) => reply,
        {},
        (error, reply) => (error === null ? resolve(reply) : reject(error)),
      ),
    );
    grpc.close();
    expect(String(bytes)).toContain("pong");
  });

  test("serves REST", async () => {
    expect(await get(service.port, "/ping")).toBe("pong");
    expect(await get(service.port, "/api/public/settings")).toContain("site_title");
  });

  test.each([
    ["-tls1_3", "h2"],
    ["-tls1_2", "h2"],
    ["-tls1_3", "http/1.1"],
    ["-tls1_2", "http/1.1"],
  ])("openssl connects with %s and agrees on %s", async (version, protocol) => {
    const { ok, text } = await sClient(service.port, version, "-alpn", protocol);
    expect({ ok, text }).toMatchObject({ ok: true });
    expect(text).toContain(`ALPN protocol: ${protocol}`);
    expect(text).toContain("Verify return code: 0 (ok)");
  });

  test.each([
    ["TLS 1.1", ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"]],
    ["TLS 1.0", ["-tls1", "-cipher", "ALL:@SECLEVEL=0"]],
    ["suites without forward secrecy", ["-tls1_2", "-cipher", "kRSA:@SECLEVEL=0"]],
    [
      "CBC suites",
      ["-tls1_2", "-cipher", "ECDHE+AES+SHA1:ECDHE+AES+SHA256:ECDHE+AES+SHA384:@SECLEVEL=0"],
    ],
    ["suites without a certificate", ["-tls1_2", "-cipher", "aNULL:eNULL:@SECLEVEL=0"]],
    ["a protocol that is not served", ["-tls1_3", "-alpn", "spdy/1"]],
  ])("openssl gets no connection with %s", async (_name, args) => {
    const { ok, text } = await sClient(service.port, ...args);
    expect({ ok, text }).toMatchObject({ ok: false });
    expect(text).not.toMatch(/Cipher is (?:ECDHE|AES|DHE|TLS_)/);
  });

  test("sends nothing to a client without TLS", async () => {
    const socket = connectTcp(service.port, "127.0.0.1");
    let received: Buffer = Buffer.alloc(0);
    socket.on("data", (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
    });
    socket.on("error", () => undefined);
    socket.write("GET /ping HTTP/1.1\r\nHost: x\r\n\r\n");
    await new Promise((resolve) => socket.on("close", resolve));
    expect(received.toString("latin1")).not.toContain("pong");
  });

  test("the command line calls it by https", async () => {
    const refused = await runCommand(["get", "site_title"], {
      env: { MOORING_ADDRESS: `https://localhost:${service.port}`, MOORING_TOKEN: TOKEN },
    });
    expect(refused).toMatchObject({ code: 6, err: expect.stringContaining("is not trusted") });
  });
});

test("gRPC on its own port has TLS as well", async () => {
  const service = await start({ ...envOf(first), MOORING_GRPC_LISTEN: "127.0.0.1:0" });
  const { ok, text } = await sClient(service.grpcPort, "-alpn", "h2");
  expect({ ok, text }).toMatchObject({ ok: true });
});

describe("certificates of clients", () => {
  test("are required with client authorities, in addition to the token", async () => {
    const env = { ...envOf(first), MOORING_TLS_CLIENT_CA_FILE: authority.certificate };
    const service = await start(env);
    await expect(get(service.port, "/ping")).rejects.toThrow();
    expect(await get(service.port, "/ping", client)).toBe("pong");
    expect(await get(service.port, "/api/admin/setting/list", client)).toContain("missing");
    const stranger = await makeAuthority();
    onTestFinished(stranger.remove);
    await expect(get(service.port, "/ping", await stranger.issue("x"))).rejects.toThrow();
  });

  test("the command line reports a missing one, and sends one", async () => {
    const env = { ...envOf(first), MOORING_TLS_CLIENT_CA_FILE: authority.certificate };
    const service = await start(env);
    const { NODE_TLS_REJECT_UNAUTHORIZED: before } = process.env;
    onTestFinished(() => {
      if (before === undefined) delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"];
      else process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = before;
    });
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0";
    const at = { MOORING_ADDRESS: `https://localhost:${service.port}`, MOORING_TOKEN: TOKEN };
    const refused = await runCommand(["get", "site_title"], { env: at });
    expect(refused).toMatchObject({
      code: 6,
      err: expect.stringContaining("requires a client certificate"),
    });
    const sent = await runCommand(["get", "site_title"], {
      env: {
        ...at,
        MOORING_CLIENT_CERT_FILE: client.certificate,
        MOORING_CLIENT_KEY_FILE: client.key,
      },
    });
    expect(sent).toMatchObject({ code: 0, out: "OpenList\n" });
    const half = await runCommand(["get", "site_title"], {
      env: { ...at, MOORING_CLIENT_CERT_FILE: client.certificate },
    });
    expect(half).toMatchObject({ code: 2, err: expect.stringContaining("must be set together") });
  });
});

describe("certificate files that change", () => {
  test("apply to new connections, and open ones stay; an invalid pair changes nothing", async () => {
    const pair = {
      certificate: join(authority.folder, "now.pem"),
      key: join(authority.folder, "now.key"),
    };
    const put = ({ certificate, key }: Pair): void => {
      copyFileSync(certificate, `${pair.certificate}.new`);
      copyFileSync(key, `${pair.key}.new`);
      renameSync(`${pair.certificate}.new`, pair.certificate);
      renameSync(`${pair.key}.new`, pair.key);
    };
    put(first);
    const service = await start(envOf(pair));
    expect(await subject(service.port)).toBe("first");
    const open = connectTls({
      port: service.port,
      ca: readFileSync(authority.certificate),
      servername: "localhost",
    });
    await new Promise((resolve) => open.once("secureConnect", resolve));
    put(second);
    await vi.waitFor(async () => expect(await subject(service.port)).toBe("second"), 60_000);
    open.write("GET /ping HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    const answer = await new Promise<string>((resolve) =>
      open.once("data", (data) => resolve(String(data))),
    );
    expect(answer).toContain("200 OK");

    const bad = () =>
      service.logLines().filter(({ msg }) => String(msg).includes("the old one stays"));
    // A read between the two renames above finds an invalid pair, too.
    const before = bad().length;
    writeFileSync(pair.certificate, readFileSync(first.certificate));
    await vi.waitFor(() => expect(bad().length).toBeGreaterThan(before), 60_000);
    for (const line of bad())
      expect(line).toMatchObject({ reason: expect.stringContaining("is not the key of") });
    expect(await subject(service.port)).toBe("second");
    put(first);
    await vi.waitFor(async () => expect(await subject(service.port)).toBe("first"), 60_000);
    expect(service.log()).not.toContain("PRIVATE");
  });
});

describe("a start with invalid credentials", () => {
  test.each<[string, () => Record<string, string>, string]>([
    [
      "the key of another certificate",
      () => envOf({ ...first, key: second.key }),
      "is not the key of",
    ],
    ["no file", () => envOf({ ...first, key: "/nowhere/key" }), "there is no such file"],
    ["a folder", () => envOf({ ...first, key: authority.folder }), "MOORING_TLS_KEY_FILE"],
    [
      "a key for a certificate",
      () => envOf({ ...first, certificate: first.key }),
      "no certificate",
    ],
    [
      "a certificate for a key",
      () => envOf({ ...first, key: first.certificate }),
      "no private key",
    ],
    [
      "no authority",
      () => ({ ...envOf(first), MOORING_TLS_CLIENT_CA_FILE: first.key }),
      "MOORING_TLS_CLIENT_CA_FILE",
    ],
  ])("%s", async (_name, env, reason) => {
    await expect(startService({ env: env() })).rejects.toThrow(reason);
  });
});

function get(port: number, path: string, pair?: Pair): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const own = pair && { cert: readFileSync(pair.certificate), key: readFileSync(pair.key) };
  const ca = readFileSync(authority.certificate);
  const calling = request({ host: "localhost", port, path, ca, ...own, agent: false }, (reply) => {
    let text = "";
    reply.on("data", (chunk) => {
      text += String(chunk);
    });
    reply.on("end", () => resolve(text));
  });
  calling.on("error", reject);
  calling.end();
  return promise;
}

/** The certificate of the port. */
function subject(port: number): Promise<string> {
  const ca = readFileSync(authority.certificate);
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connectTls({ port, host: "localhost", ca }, () => {
    resolve(String(socket.getPeerCertificate().subject.CN));
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}
