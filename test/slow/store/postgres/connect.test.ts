import { writeFileSync } from "node:fs";
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
  giveToServer,
  hasPostgres,
  postgresProgram,
  startPostgres,
  type TestServer,
} from "../../../store/postgres/server.ts";
import { type Authority, makeAuthority, type Pair } from "../../../wire/certificate.ts";

const isInstalled = needs(postgresProgram("postgres"), "openssl");
beforeEach((context) => isInstalled(context));

const PASSWORD = "p@ss:w/rd%1";
const HBA = `hostssl all holder 127.0.0.1/32 cert
hostssl all guest 127.0.0.1/32 scram-sha-256
host all guest 127.0.0.1/32 reject
host all all 127.0.0.1/32 trust
`;
let authority: Authority;
let other: Authority;
let holder: Pair;
let server: TestServer;

/** A server with a certificate of its own authority, and a user who needs TLS and a password. */
beforeAll(async () => {
  if (!hasPostgres) return;
  [authority, other] = [await makeAuthority(), await makeAuthority()];
  const own = await authority.issue("server", { names: "DNS:localhost" });
  holder = await authority.issue("holder");
  const hba = join(authority.folder, "hba.conf");
  writeFileSync(hba, HBA);
  giveToServer(authority.folder);
  server = await startPostgres({
    settings: [
      "ssl=on",
      `ssl_cert_file=${own.certificate}`,
      `ssl_key_file=${own.key}`,
      `ssl_ca_file=${authority.certificate}`,
      `hba_file=${hba}`,
    ],
  });
  await server.query(`create role guest login superuser password '${PASSWORD}'`);
  await server.query("create role holder login superuser");
});
afterAll(async () => {
  await server?.remove();
  await Promise.all([authority?.remove(), other?.remove()]);
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
    const options = `sslmode=verify-full&sslrootcert=${authority.certificate}`;
    await open(await url(`guest:${encoded}`, options));
  });

  test("verify-full refuses another authority and another name, with the reason", async () => {
    const another = `sslmode=verify-full&sslrootcert=${other.certificate}`;
    expect(await refusal(await url(`guest:${encoded}`, another))).toMatch(
      /has a certificate of an unknown authority: give the authority.s file as sslrootcert/,
    );
    const right = `sslmode=verify-full&sslrootcert=${authority.certificate}`;
    expect(await refusal(await url(`guest:${encoded}`, right, "127.0.0.1"))).toMatch(
      /has a certificate for another name than the host in the URL/,
    );
  });

  test.each(["require", "prefer", "verify-ca"])("%s verifies the certificate too", async (mode) => {
    const warned = vi.fn();
    process.on("warning", warned);
    onTestFinished(() => void process.off("warning", warned));
    expect(await refusal(await url(`guest:${encoded}`, `sslmode=${mode}`))).toMatch(/authority/);
    await open(
      await url(`guest:${encoded}`, `sslmode=${mode}&sslrootcert=${authority.certificate}`),
    );
    expect(warned).not.toHaveBeenCalled();
  });

  test("sslcert and sslkey authenticate the client", async () => {
    const options = `sslmode=verify-full&sslrootcert=${authority.certificate}`;
    const certificate = `sslcert=${holder.certificate}&sslkey=${holder.key}`;
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
    const file = join(authority.folder, "pgpass");
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
