import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { connect, type IncomingHttpHeaders } from "node:http2";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeCertificate } from "../../downloaders/certificate.ts";
import { needs } from "../../downloaders/program.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";
import { exchange } from "../../wire/raw/line.ts";
import { startService, type TestService } from "../../wire/service.ts";
import { inFrontOf } from "../../wire/upstream.ts";

let service: TestService | undefined;
let site: StandIn | undefined;

afterEach(async () => {
  await service?.stop();
  await site?.stop();
  [service, site] = [undefined, undefined];
});

const GET = "GET /x HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n";

describe("an upstream with invalid replies causes no crash", () => {
  test.each([
    ["an invalid status", "HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n"],
    [
      "an upgrade that was not requested",
      "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
    ["no HTTP", "SSH-2.0-OpenSSH\r\n"],
    ["nothing", ""],
    ["an endless head", `HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}`],
  ])("%s: 502", async (_, bytes) => {
    const { port } = await inFrontOf(bytes);
    expect(await exchange(port, [GET])).toMatch(/^HTTP\/1\.1 502 /);
    expect(
      await exchange(port, ["GET /@mooring/ping HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"]),
    ).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("a status text that is not ASCII is passed on", async () => {
    const { port } = await inFrontOf(
      "HTTP/1.1 200 \xfcber\r\nX-Name: \xe9\r\nContent-Length: 2\r\n\r\nok",
    );
    const text = await exchange(port, [GET]);
    expect(text).toMatch(/^HTTP\/1\.1 200 \xfcber\r\n/);
    expect(text).toContain("X-Name: \xe9\r\n");
  });

  test("a truncated reply is truncated here", async () => {
    const { port } = await inFrontOf("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
    const text = await exchange(port, [GET]);
    expect(text).toContain("half");
    const reply = fetch(`http://127.0.0.1:${port}/x`).then((each) => each.text());
    await expect(reply).rejects.toThrow("terminated");
  });
});

describe("a request without a form in HTTP/1.1", () => {
  beforeEach(async () => {
    site = await startStandIn();
    service = await startService({ env: { MOORING_UPSTREAM: site.url } });
  });

  async function ask(headers: Record<string, string>): Promise<IncomingHttpHeaders | Error> {
    const session = connect(`http://127.0.0.1:${service?.port}`);
    try {
      const stream = session.request(headers);
      const head = await Promise.race([
        once(stream, "response").then(([reply]) => reply as IncomingHttpHeaders),
        once(stream, "close").then(() => new Error("closed")),
      ]).catch((error: unknown) => error as Error);
      stream.close();
      return head;
    } finally {
      session.destroy();
    }
  }

  test.each([
    [{ ":path": "/a b" }],
    [{ ":path": "/a\tb" }],
    [{ ":path": "/x", ":method": "GET X" }],
    [{ ":path": "x" }],
    [{ ":path": "/x", ":authority": "a b" }],
    [{ ":path": "/x", "x-a": "\u007f" }],
  ])("%j over HTTP/2 is refused or passed on, and causes no crash", async (headers) => {
    const head = await ask(headers as Record<string, string>);
    if (!(head instanceof Error)) expect([200, 400, 405]).toContain(head[":status"]);
    expect(await ask({ ":path": "/d/hello.txt" })).toMatchObject({ ":status": 200 });
  });
});

describe("an unreachable upstream: users get the reason, and no address", () => {
  async function answerOf(upstream: string): Promise<string> {
    service = await startService({ env: { MOORING_UPSTREAM: upstream } });
    const reply = await fetch(`http://127.0.0.1:${service.port}/x`);
    expect(reply.status).toBe(502);
    return ((await reply.json()) as { message: string }).message;
  }

  test("the connection is refused", async () => {
    expect(await answerOf("http://127.0.0.1:1")).toBe(
      "the upstream does not answer: connection refused",
    );
  });

  test("https for http", async () => {
    site = await startStandIn();
    expect(await answerOf(site.url.replace("http", "https"))).toContain(
      "it does not use TLS: write its address with http://",
    );
  });

  test("a certificate of an unknown issuer", async (context) => {
    needs("openssl")(context);
    const certificate = await makeCertificate();
    const key = await readFile(certificate.privateKey, "utf8");
    site = await startStandIn({ tls: { cert: certificate.pem, key } });
    await certificate.remove();
    expect(await answerOf(site.url)).toMatch(/certificate is not trusted .* NODE_EXTRA_CA_CERTS/);
  });
});
