import { createServer } from "node:http";
import { type AddressInfo, createServer as createNetServer } from "node:net";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import {
  isPublic,
  keyProblem,
  newKey,
  sendOnce,
  signedHeaders,
} from "../../../src/incidents/webhook/send.ts";
import { startedForAll } from "../../started.ts";
import { words } from "../../words.ts";

const server = startedForAll(() =>
  createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += String(part);
    seen.push({ path: request.url ?? "", headers: request.headers, body });
    if (request.url === "/hang") return;
    if (request.url === "/cut") return void request.socket.destroy();
    const status = Number(request.url?.slice(1)) || 204;
    response.writeHead(status, status === 302 ? { location: "/204" } : {}).end("x".repeat(100_000));
  }),
);
let url: string;
const seen: { path: string; headers: Record<string, unknown>; body: string }[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.closeAllConnections());

const allowPrivate = true;

describe("a signature", () => {
  test("is verified by a library of Standard Webhooks, and differs for any other message", () => {
    const key = newKey();
    const body = JSON.stringify({ type: "test", text: "ü" });
    const headers = signedHeaders(key, { id: "msg_1", time: Date.now(), body });
    expect(new Webhook(key).verify(body, headers)).toEqual({ type: "test", text: "ü" });
    expect(() => new Webhook(key).verify(`${body} `, headers)).toThrow(
      "No matching signature found",
    );
    expect(() => new Webhook(newKey()).verify(body, headers)).toThrow(
      "No matching signature found",
    );
    const old = signedHeaders(key, { id: "msg_1", time: Date.now() - 600_000, body });
    expect(() => new Webhook(key).verify(body, old)).toThrow("Message timestamp too old");
  });

  test("needs keys of 24 to 64 bytes", () => {
    const key = (bytes: number) => `whsec_${Buffer.alloc(bytes, 7).toString("base64")}`;
    for (const good of [newKey(), key(24), key(64), key(25).replace(/=+$/, "")])
      expect(keyProblem(good)).toBeUndefined();
    for (const bad of ["", "whsec_", key(23), key(65), "abc", "whsec_$$$$", key(30).slice(6)])
      expect(keyProblem(bad)).sentence(/must/);
  });
});

const post = (url: string, headers: Readonly<Record<string, string>> = {}) => ({
  url,
  method: "POST",
  headers: { "content-type": "application/json", ...headers },
  body: "{}",
});

describe("an attempt", () => {
  test("is one request with the body and the headers", async () => {
    const headers = { "webhook-id": "a" };
    expect(await sendOnce(post(`${url}/204?key=1`, headers), { allowPrivate })).toEqual({
      status: 204,
      error: "",
    });
    expect(seen.at(-1)).toMatchObject({
      path: "/204?key=1",
      body: "{}",
      headers: { "webhook-id": "a", "content-type": "application/json", "content-length": "2" },
    });
  });

  test.each([
    [200, ""],
    [400, "HTTP 400"],
    [500, "HTTP 500"],
    [302, expect.sentence(/^HTTP 302: redirects are not followed, give the final address$/)],
  ])("that is answered with %i", async (status, error) => {
    const before = seen.length;
    const result = await sendOnce(post(`${url}/${status}`), { allowPrivate });
    expect(result).toEqual({ status, error });
    expect(seen.length).toBe(before + 1);
  });

  test("that is answered with another protocol fails at once", async () => {
    const other = createNetServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () =>
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\nx",
        ),
      );
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const sent = await sendOnce(post(`http://127.0.0.1:${port}/`), { allowPrivate });
    expect(sent).toEqual({ status: 101, error: "HTTP 101" });
  });

  test("ends without a reply, and its error has no address", async () => {
    const hang = await sendOnce(post(`${url}/hang`), { allowPrivate, limit: 50 });
    expect(hang).toEqual({ status: 0, error: expect.sentence(/^no reply within 0\.05 s$/) });
    const cut = await sendOnce(post(`${url}/cut`), { allowPrivate });
    expect(cut).toEqual({
      status: 0,
      error: expect.sentence(
        /^the request failed \(the connection was closed; if the server uses TLS, write its address with https:\/\/\)$/,
      ),
    });
    const none = await sendOnce(post("http://name.invalid/key"), { allowPrivate });
    expect(none.status).toBe(0);
    expect(none.error).not.toContain("key");
  });
});

describe("addresses that are not public", () => {
  test.each([
    ...words(`
      127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0
      224.0.0.1 255.255.255.255 ::1 :: fe80::1 fd00::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ff02::1
      64:ff9b::7f00:1 2002:7f00:1::
    `),
    // IPv4-compatible, as a URL writes it, and unassigned ranges.
    ...words("::7f00:1 ::a01:203 ::2 4000::1 8000::1 fec0::1"),
    // ISATAP (RFC 5214): an IPv4 address in the last bytes of any prefix.
    ...words("2001:470::5efe:7f00:1 2001:470::200:5efe:a01:203"),
  ])("%s", (address) => {
    expect(isPublic(address)).toBe(false);
  });

  test.each(["8.8.8.8", "1.1.1.1", "2606:4700::1111"])("%s is public", (address) => {
    expect(isPublic(address)).toBe(true);
  });

  test.each([
    "",
    ...words(`
      http://127.1 http://2130706433 http://0x7f.1 http://[::1] http://[::ffff:7f00:1]
      http://[::127.0.0.1] http://localhost http://localhost.
    `),
  ])("are refused before any request: %s", async (origin) => {
    const before = seen.length;
    const { port } = new URL(url);
    const target = origin === "" ? url : `${origin}:${port}`;
    const result = await sendOnce(post(`${target}/204`), { allowPrivate: false });
    expect(result.status).toBe(0);
    expect(result.error).sentence(/not a public address|the host name is unknown/);
    expect(seen.length).toBe(before);
  });
});
