import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { developmentProgram } from "../../../tools/development.ts";
import { startedForAll } from "../../started.ts";
import { startService, TOKEN, VERSION } from "../../wire/service.ts";

const ROOT = join(import.meta.dirname, "../../..");
const BUF = developmentProgram("buf");

interface Ran {
  /** 0, or the gRPC code times 8. */
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The output, if it is JSON. */
  readonly json: unknown;
}

/** Runs `buf curl`, a client that has nothing of this service but its replies. */
function bufCurl(...args: readonly string[]): Promise<Ran> {
  return new Promise((resolve) => {
    execFile(BUF, ["curl", ...args], { cwd: ROOT }, (error, stdout, stderr) => {
      const exitCode = error === null ? 0 : Number(error.code);
      const json: unknown = stdout.startsWith("{") ? JSON.parse(stdout) : undefined;
      resolve({ exitCode, stdout, stderr, json });
    });
  });
}

const METHODS = [
  "mooring.v1.DriverService/GetDriver",
  "mooring.v1.PublicService/GetPublicSettings",
  "mooring.v1.PublicService/Ping",
  "mooring.v1.SettingService/ResetToken",
  "mooring.v1.SettingService/SaveSettings",
  "mooring.v1.SettingService/SetAria2",
];

/** Sources of `buf curl` for the contract: reflection over HTTP/2, or the proto files. */
const ways = [
  ["grpc", "by reflection", []],
  ["grpcweb", "by reflection", []],
  ["connect", "by reflection", []],
  ["grpc", "by reflection", ["--http2-prior-knowledge"]],
  ["grpcweb", "by reflection", ["--http2-prior-knowledge"]],
  ["connect", "by reflection", ["--http2-prior-knowledge"]],
  ["grpcweb", "by the proto files, over HTTP/1.1", ["--schema", ROOT]],
  ["connect", "by the proto files, over HTTP/1.1", ["--schema", ROOT]],
] as const;

describe("buf curl", () => {
  const service = startedForAll(startService);
  const at = (path = ""): string => `http://127.0.0.1:${service.port}${path}`;

  describe.each(ways)("--protocol %s %s %j", (protocol, _how, flags) => {
    const curl = (method: string, request: string, ...more: readonly string[]): Promise<Ran> =>
      bufCurl(
        "--protocol",
        protocol,
        ...flags,
        ...more,
        "-d",
        request,
        at(`/mooring.v1.${method}`),
      );

    test("calls", async () => {
      const [ping, settings] = await Promise.all([
        curl("PublicService/Ping", "{}"),
        curl("PublicService/GetPublicSettings", "{}"),
      ]);
      expect(ping).toMatchObject({ exitCode: 0, json: { message: "pong" } });
      expect(settings.json).toMatchObject({ settings: { version: VERSION } });
    });

    test("sends the token, and reads errors with their details", async () => {
      const bearer = ["-H", `Authorization: Bearer ${TOKEN}`];
      const wrong = '{"settings":[{"key":"default_page_size","value":"many"}]}';
      const [names, refused, invalid] = await Promise.all([
        curl("DriverService/ListDriverNames", "{}", ...bearer),
        curl("DriverService/ListDriverNames", "{}"),
        curl("SettingService/SaveSettings", wrong, ...bearer),
      ]);
      expect(names.json).toMatchObject({ names: expect.arrayContaining(["S3"]) });
      expect(refused.exitCode).toBe(16 * 8);
      expect(refused.stderr).toContain("missing token");
      expect(invalid.exitCode).toBe(3 * 8);
      expect(invalid.stderr).toContain("default_page_size");
      expect(invalid.stderr).toContain("google.rpc.BadRequest");
    });
  });

  test.each(["grpc", "grpcweb", "connect"])(
    "lists the methods by --protocol %s",
    async (protocol) => {
      const { stdout, exitCode } = await bufCurl("--protocol", protocol, "--list-methods", at());
      expect(exitCode).toBe(0);
      expect(stdout.split("\n")).toEqual(expect.arrayContaining(METHODS));
    },
  );

  test("finds reflection in both versions", async () => {
    for (const version of ["grpc-v1", "grpc-v1alpha"]) {
      const args = ["--protocol", "grpc", "--reflect-protocol", version, "--list-services", at()];
      const { stdout } = await bufCurl(...args);
      expect(stdout.split("\n"), version).toContain("mooring.v1.SettingService");
    }
  });

  test("reads the health", async () => {
    for (const protocol of ["grpc", "grpcweb", "connect"]) {
      const args = ["--protocol", protocol, "-d", "{}", at("/grpc.health.v1.Health/Check")];
      expect(await bufCurl(...args), protocol).toMatchObject({ json: { status: "SERVING" } });
    }
  });
});

describe("buf curl against MOORING_GRPC_LISTEN", () => {
  test("uses gRPC there, and everything else on the other port", async () => {
    const service = await startService({ env: { MOORING_GRPC_LISTEN: "127.0.0.1:0" } });
    onTestFinished(service.stop);
    const ping = "mooring.v1.PublicService/Ping";
    const alone = `http://127.0.0.1:${service.grpcPort}`;
    const shared = `http://127.0.0.1:${service.port}`;
    const pong = { exitCode: 0, json: { message: "pong" } };
    expect(await bufCurl("--protocol", "grpc", `${alone}/${ping}`)).toMatchObject(pong);
    expect(await bufCurl("--protocol", "connect", `${shared}/${ping}`)).toMatchObject(pong);
    expect(await bufCurl("--protocol", "grpcweb", `${shared}/${ping}`)).toMatchObject(pong);
    const missing = await bufCurl("--protocol", "grpc", "--schema", ROOT, `${shared}/${ping}`);
    expect(missing.exitCode).not.toBe(0);
  });
});
