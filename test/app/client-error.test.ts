import { connect } from "node:net";
import { expect, test } from "vitest";
import { startGateway } from "../gateway/gateway-server.ts";
import { startedForAll } from "../started.ts";

const gateway = startedForAll(() => startGateway({ methods: [] }));

/** Sends raw bytes and reads until the connection ends. */
async function exchange(text: string): Promise<string> {
  const socket = connect(gateway.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(text);
  let received = "";
  for await (const data of socket) received += String(data);
  return received;
}

test.each<[string, string, number]>([
  ["a URL over the limit", `GET /${"a".repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ["a URL far over the limit", `GET /?${"a".repeat(300_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
  ["headers over the limit", `GET / HTTP/1.1\r\nHost: x\r\nX: ${"a".repeat(20_000)}\r\n\r\n`, 431],
  ["many headers", `GET / HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(9_000)}\r\n`, 431],
  ["a request that is not HTTP", "hello\r\n\r\n", 400],
  ["CONNECT", "CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 400],
  [
    "two lengths",
    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    400,
  ],
])("%s is answered with an envelope before routing", async (_, text, status) => {
  const received = await exchange(text);
  const [head = "", body = ""] = received.split("\r\n\r\n");
  expect(head).toContain(`HTTP/1.1 ${status} `);
  expect(head).toContain("Content-Type: application/json; charset=utf-8");
  expect(JSON.parse(body)).toEqual({ code: status, message: expect.any(String), data: null });
});

test("a URL with an unescaped character is refused with its percent-encoded form", async () => {
  const received = await exchange("GET /get?key=ü HTTP/1.1\r\nHost: x\r\n\r\n");
  expect(received).toMatch(/^HTTP\/1\.1 400 /);
  expect(received).toContain('percent-encoded, such as %C3%BC for \\"ü\\"');
});
