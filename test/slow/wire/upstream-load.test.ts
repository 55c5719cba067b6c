import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type ClientRequest, get, type IncomingMessage, request } from "node:http";
import { get as getTls, request as requestTls } from "node:https";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { residentBytes } from "../../../bench/proc.ts";
import { type Certificate, makeCertificate } from "../../downloaders/certificate.ts";
import { needs } from "../../downloaders/program.ts";
import { type MooringProcess, startedMooring, TOKEN } from "../../process/mooring.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";

const GB = 1_000_000_000;
/** Memory that a process allocates at once, such as for compiled code. */
const WARM_UP = 100_000_000;
/** Permitted growth of the process's memory by a transfer, in bytes. */
const ADDED = 20 * 2 ** 20;

let site: StandIn;
let mooring: MooringProcess;
let certificate: Certificate | undefined;

/** A front with TLS on both sides when there is a certificate. */
async function start(): Promise<void> {
  const pair = certificate && {
    cert: certificate.pem,
    key: await readFile(certificate.privateKey, "utf8"),
  };
  site = await startStandIn(pair && { tls: pair });
  mooring = await startedMooring({
    env: {
      MOORING_UPSTREAM: site.url,
      MOORING_UPSTREAM_TOKEN: site.token(),
      MOORING_ADMIN_TOKEN: TOKEN,
      MOORING_MAX_CONNECTIONS_PER_PEER: "5000",
      ...(certificate && {
        MOORING_TLS_CERT_FILE: certificate.certificate,
        MOORING_TLS_KEY_FILE: certificate.privateKey,
        NODE_EXTRA_CA_CERTS: certificate.certificate,
      }),
    },
  });
}

afterEach(async () => {
  mooring.kill("SIGTERM");
  await mooring.ended;
  await site.stop();
  await certificate?.remove();
  certificate = undefined;
});

beforeEach(needs("openssl"));

/** Maximum memory of the process during an action, in bytes. */
async function peakDuring(work: Promise<unknown>): Promise<number> {
  let peak = residentBytes(mooring.pid);
  const timer = setInterval(() => {
    peak = Math.max(peak, residentBytes(mooring.pid));
  }, 50);
  await work;
  clearInterval(timer);
  return peak;
}

function counted(): { readonly sink: Writable; readonly bytes: () => number } {
  let bytes = 0;
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      bytes += chunk.length;
      done();
    },
  });
  return { sink, bytes: () => bytes };
}

async function answerOf(call: ClientRequest): Promise<IncomingMessage> {
  const [reply] = (await once(call, "response")) as [IncomingMessage];
  return reply;
}

const at = (path: string): string =>
  `http${certificate ? "s" : ""}://127.0.0.1:${mooring.port()}${path}`;
const trust = () => (certificate ? { ca: certificate.pem } : {});

async function login(): Promise<string> {
  const call = (certificate ? requestTls : request)(at("/api/auth/login"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    ...trust(),
  });
  call.end(JSON.stringify({ username: "admin", password: "admin-password" }));
  let text = "";
  for await (const part of await answerOf(call)) text += part;
  return (JSON.parse(text) as { data: { token: string } }).data.token;
}

async function download(size: number): Promise<void> {
  const { sink, bytes } = counted();
  const call = (certificate ? getTls : get)(at(`/d/big/${size}`), { ...trust(), agent: false });
  await pipeline(await answerOf(call), sink);
  expect(bytes()).toBe(size);
}

async function upload(size: number): Promise<void> {
  const put = (certificate ? requestTls : request)(at("/api/fs/put"), {
    method: "PUT",
    agent: false,
    ...trust(),
    headers: { authorization: await login(), "content-length": size, "file-path": "/up" },
  });
  const block = Buffer.alloc(100_000);
  const source = Readable.from(
    (function* () {
      for (let sent = 0; sent < size; sent += block.length) yield block;
    })(),
  );
  const answered = answerOf(put);
  await pipeline(source, put);
  (await answered).resume();
  expect(site.uploaded()).toBe(size);
}

test.each([
  ["a gigabyte", "in the clear", GB, false],
  // Enough to detect buffering; TLS takes three times as long.
  ["300 MB", "over TLS on both sides", 0.3 * GB, true],
])("%s is passed on in bounded memory: %s", { timeout: 120_000 }, async (_, __, size, isTls) => {
  if (isTls) certificate = await makeCertificate();
  await start();
  for (const transfer of [download, upload]) {
    await transfer(WARM_UP);
    const before = residentBytes(mooring.pid);
    expect((await peakDuring(transfer(size))) - before).toBeLessThan(ADDED);
  }
});

test("a thousand slow downloads leave the latency of API calls unchanged", {
  timeout: 120_000,
}, async () => {
  await start();
  const before = residentBytes(mooring.pid);
  const slow: ClientRequest[] = [];
  const replies: IncomingMessage[] = [];
  for (let round = 0; round < 20; round += 1) {
    // A tenth is slow because it is not read. All of them would need more memory than the system
    // has for its sockets, and connections of other programs would be cut off.
    const path = round % 10 === 0 ? "/d/big/" : "/d/slow/";
    const calls = Array.from({ length: 50 }, () => get(at(`${path}${GB}`), { agent: false }));
    slow.push(...calls);
    // Only the head is read.
    replies.push(...(await Promise.all(calls.map(answerOf))));
  }
  expect(replies.every(({ statusCode }) => statusCode === 200)).toBe(true);
  const token = await login();
  for (let at = 0; at < 20; at += 1) {
    const value = `while they wait ${at}`;
    const reply = await fetch(`http://127.0.0.1:${mooring.port()}/api/admin/setting/save`, {
      method: "POST",
      headers: { authorization: token, "content-type": "application/json" },
      body: JSON.stringify([{ key: "site_title", value }]),
    });
    expect(reply.headers.get("mooring-upstream")).toMatch(/^(?:applied|pending)$/);
    await expect.poll(() => site.value("site_title")).toBe(value);
  }
  // Data for slow readers is in the sockets of the system, and little of it here.
  expect(residentBytes(mooring.pid) - before).toBeLessThan(1_000 * 512 * 1024);
  for (const call of slow) call.destroy();
});
