import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../bench/port.ts";
import { run } from "../../cli/world.ts";
import { needs } from "../../downloaders/program.ts";
import { startedMooring, TOKEN, testFolder } from "../../process/mooring.ts";
import { type Authority, makeAuthority } from "../../wire/certificate.ts";

/** Starts a service with variables, and calls it by a command with the same ones. */
async function probed(env: Record<string, string>, command: string[], more = {}) {
  const folder = await testFolder();
  const own = { MOORING_ADMIN_TOKEN: TOKEN, MOORING_DATA_DIR: folder, ...env };
  const mooring = await startedMooring({ folder, env: own });
  const { code, out, err } = await run(command, { cwd: folder, env: { ...own, ...more } });
  await mooring.stop();
  return { code, out, err };
}

const serves = { code: 0, out: "serving\n", err: "" };

describe("with the variables of the service its probe finds it", () => {
  test("on another port", async () => {
    const env = { MOORING_LISTEN: `:${await freePort()}` };
    expect(await probed(env, ["health"])).toEqual(serves);
  });

  test("on a Unix socket with mode 0600, at a relative path", async () => {
    const env = { MOORING_LISTEN: "unix:mooring.sock", MOORING_SOCKET_MODE: "0600" };
    expect(await probed(env, ["health"])).toEqual(serves);
    expect((await probed(env, ["status"], { MOORING_TOKEN: TOKEN })).out).toMatch(/^ready +yes$/m);
  });

  test("on the port of gRPC, if that is another", async () => {
    const folder = await testFolder();
    const env = {
      MOORING_LISTEN: `127.0.0.1:${await freePort()}`,
      MOORING_GRPC_LISTEN: `unix:${join(folder, "grpc.sock")}`,
    };
    expect(await probed(env, ["health"])).toEqual(serves);
  });
});

describe("over TLS", () => {
  let authority: Authority | undefined;
  beforeEach(needs("openssl"));
  beforeAll(async () => {
    authority = await makeAuthority().catch(() => undefined);
  });
  afterAll(() => authority?.remove());

  const variables = async (name: string): Promise<Record<string, string>> => {
    const pair = await authority?.issue(name);
    return {
      MOORING_LISTEN: `127.0.0.1:${await freePort()}`,
      MOORING_TLS_CERT_FILE: pair?.certificate ?? "",
      MOORING_TLS_KEY_FILE: pair?.key ?? "",
    };
  };

  test("the probe needs no name of the certificate, for any issuer", async () => {
    expect(await probed(await variables("own"), ["health"])).toEqual(serves);
  });

  test("a command with a token needs the name, and sends no token without it", async () => {
    const env = await variables("named");
    expect(await probed(env, ["status"], { MOORING_TOKEN: TOKEN })).toMatchObject({
      code: 2,
      err: expect.stringContaining(
        "set MOORING_ADDRESS to https://NAME:PORT with the name of the certificate",
      ),
    });
  });

  test("if clients need a certificate, so does the probe", async () => {
    const client = await authority?.issue("probe");
    const env = {
      ...(await variables("strict")),
      MOORING_TLS_CLIENT_CA_FILE: authority?.certificate ?? "",
    };
    const more = {
      MOORING_CLIENT_CERT_FILE: client?.certificate ?? "",
      MOORING_CLIENT_KEY_FILE: client?.key ?? "",
    };
    expect(await probed(env, ["health"], more)).toEqual(serves);
    expect(await probed(env, ["health"])).toMatchObject({ code: 6, out: "" });
  });
});
