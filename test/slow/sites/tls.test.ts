import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { createSettingClient } from "../../../src/sites/settings/client.ts";
import { createSiteClient } from "../../../src/sync/client.ts";
import { type Certificate, makeCertificate } from "../../downloaders/certificate.ts";
import { needs } from "../../downloaders/program.ts";
import { type StandIn, startStandIn } from "../../sites/stand-in.ts";

let certificate: Certificate;
let site: StandIn;

beforeEach(needs("openssl"));

beforeAll(async () => {
  certificate = await makeCertificate();
  const key = await readFile(certificate.privateKey, "utf8");
  site = await startStandIn({ tls: { cert: certificate.pem, key } });
});

afterAll(async () => {
  await site.stop();
  await certificate.remove();
});

const clients: { close(): void }[] = [];
afterEach(() => {
  for (const client of clients.splice(0)) client.close();
});

async function count(access: { ca?: string; pin?: string; url?: string }): Promise<number> {
  const client = createSiteClient({
    url: site.url,
    token: site.token(),
    ca: "",
    pin: "",
    ...access,
  });
  clients.push(client);
  return (await createSettingClient(client).list()).length;
}

test("a self-signed certificate is refused, and the message names the required fields", async () => {
  await expect(count({})).rejects.toThrow(
    /is not trusted \(self-signed certificate\): give its certificate authority/,
  );
});

test("a self-signed certificate is accepted with its authority, or with its fingerprint", async () => {
  expect(await count({ ca: certificate.pem })).toBeGreaterThan(100);
  const pin = new X509Certificate(certificate.pem).fingerprint256.replaceAll(":", "").toLowerCase();
  expect(await count({ pin })).toBeGreaterThan(100);
});

test("another fingerprint is refused before anything is sent", async () => {
  const before = site.seen.length;
  await expect(count({ pin: "0".repeat(64) })).rejects.toThrow("not the expected one");
  expect(site.seen.length).toBe(before);
});

test("http for https is reported with the right address, for any server there", async () => {
  const at = site.url.replace("https", "http");
  const message = "uses TLS: write its address with https://";
  await expect(count({ url: at })).rejects.toThrow(`${at} ${message}`);
});

test.each([
  [
    "nginx",
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n<html><center>The plain HTTP request was sent to HTTPS port</center></html>",
    "write its address with https://",
  ],
  [
    "a TLS alert",
    "\x15\x03\x01\x00\x02\x02\x46",
    "if the server uses TLS, write its address with https://",
  ],
])(
  "the reply of %s to http is reported with the advice to write https://",
  async (_, bytes, message) => {
    const server = createServer((socket) => {
      socket.on("error", () => socket.destroy());
      socket.once("data", () => socket.end(bytes, "latin1"));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    await expect(count({ url: `http://127.0.0.1:${port}` })).rejects.toThrow(message);
    server.close();
  },
);

test("a TLS server that closes the connection of http is reported with the advice, too", async () => {
  const server = createTlsServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  await expect(count({ url: `http://127.0.0.1:${port}` })).rejects.toThrow(
    "the connection was closed; if the server uses TLS, write its address with https://",
  );
  server.close();
});

test("https for http is reported, too", async () => {
  const plain = await startStandIn();
  await expect(count({ url: plain.url.replace("http", "https") })).rejects.toThrow(
    "does not use TLS",
  );
  await plain.stop();
});
