import { execFileSync } from "node:child_process";
import { chmodSync, globSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  onTestFinished,
  test,
  vi,
} from "vitest";
import { StoreError } from "../../../../src/database/error.ts";
import { postgresServer } from "../../../../src/database/postgres/server.ts";
import { openPostgresStore } from "../../../../src/store/postgres/store.ts";
import { needs } from "../../../downloaders/program.ts";
import {
  hasPostgres,
  newFolder,
  postgresProgram,
  startPostgres,
  type TestServer,
} from "../../../store/postgres/server.ts";

const isInstalled = needs(postgresProgram("postgres"), "openssl");
beforeEach((context) => isInstalled(context));

const PASSWORD = "p@ss:w/rd%1";
let folder: string;
let server: TestServer;

/** A server with a certificate of its own authority, and a user who needs TLS and a password. */
beforeAll(async () => {
  if (!hasPostgres) return;
  folder = newFolder();
  const at = (name: string): string => join(folder, name);
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  for (const name of ["ca", "other-ca"])
    openssl(
      "req",
      "-x509",
      "-newkey",
      "rsa:2048",
      "-nodes",
      "-days",
      "1",
      "-subj",
      `/CN=${name}`,
      "-keyout",
      at(`${name}.key`),
      "-out",
      at(`${name}.pem`),
    );
  openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=localhost",
    "-keyout",
    at("server.key"),
    "-out",
    at("server.csr"),
  );
  writeFileSync(at("names"), "subjectAltName=DNS:localhost");
  openssl(
    "x509",
    "-req",
    "-in",
    at("server.csr"),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-days",
    "1",
    "-extfile",
    at("names"),
    "-out",
    at("server.pem"),
  );
  writeFileSync(
    at("hba.conf"),
    "hostssl all holder 127.0.0.1/32 cert\nhostssl all guest 127.0.0.1/32 scram-sha-256\nhost all guest 127.0.0.1/32 reject\nhost all all 127.0.0.1/32 trust\n",
  );
  openssl(
    "req",
    "-newkey",
    "rsa:2048",
    "-nodes",
    "-subj",
    "/CN=holder",
    "-keyout",
    at("holder.key"),
    "-out",
    at("holder.csr"),
  );
  openssl(
    "x509",
    "-req",
    "-in",
    at("holder.csr"),
    "-CA",
    at("ca.pem"),
    "-CAkey",
    at("ca.key"),
    "-CAcreateserial",
    "-days",
    "1",
    "-out",
    at("holder.pem"),
  );
  const { uid, gid } = statSync(folder);
  for (const file of globSync(`${folder}/*`)) {
    chmodSync(file, 0o600);
    execFileSync("chown", [`${uid}:${gid}`, file]);
  }
  server = await startPostgres({
    settings: [
      "ssl=on",
      `ssl_cert_file=${at("server.pem")}`,
      `ssl_key_file=${at("server.key")}`,
      `ssl_ca_file=${at("ca.pem")}`,
      `hba_file=${at("hba.conf")}`,
    ],
  });
  await server.query(`create role guest login superuser password '${PASSWORD}'`);
  await server.query("create role holder login superuser");
});
afterAll(async () => {
  await server?.remove();
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
});
afterEach(() => vi.unstubAllEnvs());

const encoded = encodeURIComponent(PASSWORD);

async function url(userInfo: string, options: string, host = "localhost"): Promise<string> {
  const name = (await server.newDatabase()).split("/").at(-1);
  return `postgres://${userInfo}@${host}:${server.port}/${name}?${options}`;
}

async function open(address: string): Promise<void> {
  const store = await openPostgresStore(postgresServer(address, "the-place"));
  onTestFinished(() => store.close());
  expect(await store.load()).toMatchObject({ revision: 0 });
}

async function refusal(address: string): Promise<string> {
  const error: unknown = await open(address).catch((thrown: unknown) => thrown);
  if (!(error instanceof StoreError)) throw error;
  for (const secret of [PASSWORD, encoded]) {
    expect(error.message).not.toContain(secret);
    expect(error.message).not.toContain("\n");
  }
  return error.message;
}

describe("the URL's TLS options", () => {
  test("verify-full accepts the server's certificate by the given authority", async () => {
    const options = `sslmode=verify-full&sslrootcert=${folder}/ca.pem`;
    await open(await url(`guest:${encoded}`, options));
  });

  test("verify-full refuses another authority and another name, with the reason", async () => {
    const other = `sslmode=verify-full&sslrootcert=${folder}/other-ca.pem`;
    expect(await refusal(await url(`guest:${encoded}`, other))).toMatch(
      /has a certificate of an unknown authority: give the authority.s file as sslrootcert/,
    );
    const right = `sslmode=verify-full&sslrootcert=${folder}/ca.pem`;
    expect(await refusal(await url(`guest:${encoded}`, right, "127.0.0.1"))).toMatch(
      /has a certificate for another name than the host in the URL/,
    );
  });

  test.each(["require", "prefer", "verify-ca"])("%s verifies the certificate too", async (mode) => {
    const warned = vi.fn();
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    expect(await refusal(await url(`guest:${encoded}`, `sslmode=${mode}`))).toMatch(/authority/);
    await open(await url(`guest:${encoded}`, `sslmode=${mode}&sslrootcert=${folder}/ca.pem`));
    expect(warned).not.toHaveBeenCalled();
  });

  test("sslcert and sslkey authenticate the client", async () => {
    const options = `sslmode=verify-full&sslrootcert=${folder}/ca.pem`;
    const certificate = `sslcert=${folder}/holder.pem&sslkey=${folder}/holder.key`;
    await open(await url("holder", `${options}&${certificate}`));
    expect(await refusal(await url("holder", options))).toMatch(/refuses this user/);
  });

  test("no-verify accepts any certificate", async () => {
    await open(await url(`guest:${encoded}`, "sslmode=no-verify"));
  });

  test("disable is refused by a server that requires TLS", async () => {
    expect(await refusal(await url(`guest:${encoded}`, "sslmode=disable"))).toMatch(
      /refuses this user: check its pg_hba.conf, and sslmode/,
    );
  });
});

describe("the password", () => {
  test("may be set by PGPASSWORD or PGPASSFILE", async () => {
    vi.stubEnv("PGPASSWORD", PASSWORD);
    await open(await url("guest", "sslmode=no-verify"));
    vi.stubEnv("PGPASSWORD", undefined);
    const file = join(folder, "pgpass");
    writeFileSync(file, `*:*:*:guest:${PASSWORD.replace(/[:\\]/g, "\\$&")}\n`, { mode: 0o600 });
    vi.stubEnv("PGPASSFILE", file);
    await open(await url("guest", "sslmode=no-verify"));
  });

  test("that is missing is reported", async () => {
    expect(await refusal(await url("guest", "sslmode=no-verify"))).toMatch(
      /requires a password: put it into the URL, or name its file in PGPASSFILE/,
    );
  });

  test("that is wrong is refused in a sentence without it", async () => {
    expect(await refusal(await url("guest:wrong", "sslmode=no-verify"))).toMatch(
      /refuses this user or password/,
    );
  });
});
