import { Code } from "@connectrpc/connect";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { createAria2Client } from "../../../src/downloaders/aria2.ts";
import { type Aria2c, startAria2c } from "../../downloaders/aria2c.ts";
import { type Certificate, makeCertificate } from "../../downloaders/certificate.ts";
import { expectFailure, failureOf } from "../../downloaders/failure.ts";
import { needs } from "../../downloaders/program.ts";

const SECRET = "correct-horse/ü %?";
const VERSION = /^\d+\.\d+\.\d+$/;
const client = createAria2Client();

describe("with a real aria2 that has a secret", () => {
  beforeEach(needs("aria2c"));
  const program = shared(() => startAria2c({ secret: SECRET }));

  it.for(["http", "ws"] as const)("reads the bare version over %s", async (scheme) => {
    const uri = (await program()).uri(scheme);
    const { version } = await client.getVersion({ uri, secret: SECRET });
    expect(version).toMatch(VERSION);
  });

  it.for([
    ["http", "a wrong secret", "battery-staple"],
    ["http", "no secret", ""],
    ["ws", "a wrong secret", "battery-staple"],
    ["ws", "no secret", ""],
  ] as const)("over %s refuses %s", async ([scheme, , secret]) => {
    const uri = (await program()).uri(scheme);
    const error = await failureOf(client.getVersion({ uri, secret }));
    expectFailure(error, Code.FailedPrecondition, /: wrong secret\..*--rpc-secret/, [
      SECRET,
      "battery-staple",
    ]);
  });

  it.for(["http", "ws"] as const)("names the status of a wrong path over %s", async (scheme) => {
    const uri = (await program()).uri(scheme).replace("jsonrpc", "rpc");
    const error = await failureOf(client.getVersion({ uri, secret: SECRET }));
    expectFailure(error, Code.Unavailable, /: HTTP status 40\d\..*\/jsonrpc/, [SECRET]);
  });

  it("reports https to a port without TLS", async () => {
    const uri = (await program()).uri("https");
    const error = await failureOf(client.getVersion({ uri, secret: SECRET }));
    expectFailure(error, Code.Unavailable, /: TLS failed: .*scheme/, [SECRET]);
  });
});

describe("with a real aria2 that has no secret", () => {
  beforeEach(needs("aria2c"));
  const program = shared(() => startAria2c());

  it.for(["http", "ws"] as const)("needs none over %s", async (scheme) => {
    const uri = (await program()).uri(scheme);
    const { version } = await client.getVersion({ uri, secret: "" });
    expect(version).toMatch(VERSION);
  });

  it.for(["http", "ws"] as const)("names the connect step after a stop: %s", async (scheme) => {
    const stopped = await startAria2c();
    await stopped.stop();
    const uri = stopped.uri(scheme);
    const error = await failureOf(client.getVersion({ uri, secret: SECRET }));
    expectFailure(
      error,
      Code.Unavailable,
      /: connect failed: connection refused.*ECONNREFUSED.*--enable-rpc.*--rpc-listen-all.*container/,
      [SECRET],
    );
    expect(error.message).toContain(`aria2 at ${uri}: `);
  });
});

describe("with a real aria2 that has a user name", () => {
  beforeEach(needs("aria2c"));
  const login = { user: "me", password: "p@ss:wörd" };
  const program = shared(() => startAria2c({ login }));
  const withUser = (uri: string, user: string) => uri.replace("//", `//${user}@`);

  it.for(["http", "ws"] as const)("sends it from the address over %s", async (scheme) => {
    const uri = withUser((await program()).uri(scheme), "me:p%40ss:w%C3%B6rd");
    const { version } = await client.getVersion({ uri, secret: "" });
    expect(version).toMatch(VERSION);
  });

  it.for(["http", "ws"] as const)("refuses a wrong one over %s", async (scheme) => {
    const uri = withUser((await program()).uri(scheme), "me:guess-work");
    const error = await failureOf(client.getVersion({ uri, secret: "" }));
    const secrets = ["guess-work", login.password];
    expectFailure(error, Code.FailedPrecondition, /refused.*--rpc-user/, secrets);
  });
});

describe("with a real aria2 behind TLS", () => {
  beforeEach(needs("aria2c", "openssl"));
  let certificate: Certificate | undefined;
  const program = shared(async () => {
    certificate = await makeCertificate();
    return await startAria2c({ secret: SECRET, tls: certificate });
  });
  afterAll(() => certificate?.remove());

  it.for(["https", "wss"] as const)("refuses a self-signed certificate over %s", async (scheme) => {
    const uri = (await program()).uri(scheme);
    const error = await failureOf(client.getVersion({ uri, secret: SECRET }));
    expectFailure(error, Code.Unavailable, /: TLS failed: .*self-signed.*NODE_EXTRA_CA_CERTS/, [
      SECRET,
    ]);
  });

  it.for(["https", "wss"] as const)("accepts a trusted one over %s", async (scheme) => {
    const uri = (await program()).uri(scheme);
    const trusting = createAria2Client({ ca: certificate?.pem ?? "" });
    const { version } = await trusting.getVersion({ uri, secret: SECRET });
    expect(version).toMatch(VERSION);
  });

  it("refuses a certificate of another host", async () => {
    const uri = (await program()).uri("https").replace("127.0.0.1", "localhost");
    const trusting = createAria2Client({ ca: certificate?.pem ?? "" });
    const error = await failureOf(trusting.getVersion({ uri, secret: SECRET }));
    expectFailure(error, Code.Unavailable, /: TLS failed: .*another host name/, [SECRET]);
  });
});

/** Starts a program with the first test that is not skipped and stops it after the group. */
function shared(start: () => Promise<Aria2c>): () => Promise<Aria2c> {
  let program: Promise<Aria2c> | undefined;
  afterAll(async () => await (await program)?.stop());
  return () => {
    program ??= start();
    return program;
  };
}
