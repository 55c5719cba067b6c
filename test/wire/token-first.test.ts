import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedForAll } from "../started.ts";
import { cuttables, enveloped, fieldsOf, headOf } from "./raw/cuttable.ts";
import { dial, type Line } from "./raw/line.ts";
import { question, REFLECTION } from "./raw/reflection.ts";
import { askHttp2, saying, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);

/** The same requests without a token, and with a wrong one. */
const intruders = [
  ["no token", {}],
  ["a wrong token", { authorization: "Bearer guessed" }],
] as const;

const cases = cuttables.map((one) => [one.name, one] as const);
const overHttp1 = cases.filter(([, { http }]) => http.includes("1.1"));

describe.each(intruders)("with %s", (_case, token) => {
  test.each(cases)("HTTP/2 headers alone are refused: %s", async (_name, request) => {
    const fields = fieldsOf(request, { authorization: undefined, ...token });
    const answer = await askHttp2(service.port, fields, undefined);
    expect(textOf(answer)).toMatch(saying("unauthenticated"));
  });

  test.each(overHttp1)("HTTP/1.1 headers alone are refused: %s", async (_name, request) => {
    for (const framing of ["content-length: 250000", "transfer-encoding: chunked"]) {
      const line = await dial(service.port);
      line.socket.write(headOf(request, framing, { authorization: undefined, ...token }));
      const received = await line.until((bytes) => saying("unauthenticated").test(`${bytes}`));
      expect(`${received}`).toMatch(/^HTTP\/1\.1 (?:200|401) /);
      // The body may still arrive: the connection drains it and serves the next request, or ends.
      const body =
        framing === "transfer-encoding: chunked"
          ? `3d090\r\n${"x".repeat(250_000)}\r\n0\r\n\r\n`
          : "x".repeat(250_000);
      line.socket.write(`${body}GET /ping HTTP/1.1\r\nhost: a\r\n\r\n`);
      const next = await Promise.race([line.until((bytes) => bytes.includes("pong")), line.closed]);
      expect(`${next}`).toMatch(/pong$/);
    }
  });
});

/** Bodies of public calls, with a given length. */
const publicCalls: readonly (readonly [string, string, (length: number) => Buffer])[] = [
  ["Connect JSON", "application/json", spaces],
  ["Connect proto", "application/proto", unknownField],
  ["gRPC-Web", "application/grpc-web+proto", (length) => enveloped(unknownField(length - 5))],
  ["gRPC", "application/grpc", (length) => enveloped(unknownField(length - 5))],
];

describe.each(publicCalls)("a public call over %s,", (_name, type, body) => {
  const path = "/mooring.v1.PublicService/GetPublicSettings";
  const headers = { ":method": "POST", ":path": path, "content-type": type };

  test("may have a body of 4 KiB", async () => {
    const answer = await askHttp2(service.port, headers, body(4_096));
    expect(answer.status).toBe(200);
    expect(answer.text).toContain("site_title");
  });

  test("is refused with a longer one", async () => {
    // The envelope does not count.
    const answer = await askHttp2(service.port, headers, body(4_102));
    expect(textOf(answer)).toMatch(saying("resource_exhausted"));
    expect(answer.text).not.toContain("site_title");
  });

  test("is refused with one that exceeds it after decompression", async () => {
    const coding = type.includes("grpc") ? "grpc-encoding" : "content-encoding";
    const folded = gzipSync(body(4_102 + 5).subarray(type.includes("grpc") ? 5 : 0));
    const sent = type.includes("grpc") ? enveloped(folded, 1) : folded;
    const answer = await askHttp2(service.port, { ...headers, [coding]: "gzip" }, sent);
    expect(textOf(answer)).toMatch(saying("resource_exhausted"));
  });
});

test("a public REST read is refused with a body of more than 4 KiB", async () => {
  const headers = { ":method": "GET", ":path": "/api/public/settings" };
  expect((await askHttp2(service.port, headers, spaces(4_096))).status).not.toBe(413);
  expect((await askHttp2(service.port, headers, spaces(4_097))).status).toBe(413);
});

function spaces(length: number): Buffer {
  return Buffer.from(`{}${" ".repeat(length - 2)}`);
}

/** A field that the message does not have, as long as the whole. */
function unknownField(length: number): Buffer {
  const head = [0x82, 0x7d, ((length - 4) & 127) | 128, (length - 4) >> 7];
  return Buffer.concat([Buffer.from(head), Buffer.alloc(length - 4)]);
}

test.each(["grpc", "grpc-web+proto", "connect+proto"])(
  "reflection as %s accepts requests of at most 4 KiB",
  async (type) => {
    const headers = {
      ":method": "POST",
      ":path": REFLECTION,
      "content-type": `application/${type}`,
    };
    const ask = (length: number) => {
      const symbol = { case: "fileContainingSymbol", value: "x".repeat(length) } as const;
      return askHttp2(service.port, headers, question(symbol));
    };
    expect((await ask(4_000)).text).toContain("there is no xxx");
    expect(textOf(await ask(4_200))).toMatch(saying("resource_exhausted"));
  },
);

test("HEAD of a watch that needs the token is 401 without it", async () => {
  const headers = { ":method": "HEAD", ":path": "/api/admin/setting/watch" };
  expect((await askHttp2(service.port, headers, Buffer.alloc(0))).status).toBe(401);
  const admin = { ...headers, authorization: TOKEN };
  expect((await askHttp2(service.port, admin, Buffer.alloc(0))).status).toBe(200);
});

describe("a client with Expect: 100-continue", () => {
  const ask = async (token: string): Promise<Line> => {
    const line = await dial(service.port);
    line.socket.write(
      [
        "POST /api/admin/setting/save HTTP/1.1",
        "host: mooring.example",
        `authorization: ${token}`,
        "content-type: application/json",
        "expect: 100-continue",
        "content-length: 2\r\n\r\n",
      ].join("\r\n"),
    );
    return line;
  };

  test("gets 100 with the token", async () => {
    const line = await ask(TOKEN);
    await line.until((received) => received.includes("HTTP/1.1 100 Continue\r\n\r\n"));
    line.socket.write("[]");
    expect(`${await line.until((received) => received.includes("}"))}`).toContain('"code":200');
  });

  test.each([
    [TOKEN, 1, 200],
    ["guessed", 0, 401],
  ])("gets 100 over HTTP/2 only with the token: %s", async (authorization, expected, code) => {
    const session = connect(`http://127.0.0.1:${service.port}`);
    onTestFinished(() => session.destroy());
    const stream = session.request({
      ":method": "POST",
      ":path": "/api/admin/setting/save",
      expect: "100-continue",
      authorization,
      "content-type": "application/json",
    });
    let continued = 0;
    stream.on("continue", () => {
      continued += 1;
      stream.end("[]");
    });
    let text = "";
    for await (const piece of stream) text += piece;
    expect(JSON.parse(text)).toMatchObject({ code });
    expect(continued).toBe(expected);
  });

  test("is refused at once without it", async () => {
    const line = await ask("guessed");
    const received = await line.until((bytes) => saying("unauthenticated").test(`${bytes}`));
    expect(`${received}`).not.toContain("100 Continue");
  });
});

test.each(overHttp1.slice(0, 6))(
  "an endless body after its refusal is cut off: %s",
  async (_name, request) => {
    const line = await dial(service.port);
    line.socket.write(headOf(request, "transfer-encoding: chunked", { authorization: undefined }));
    await line.until((received) => saying("unauthenticated").test(`${received}`));
    const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
    let sent = 0;
    while (!line.socket.destroyed) {
      sent += chunk.length;
      const taken = new Promise((resolve) => line.socket.write(chunk, resolve));
      await Promise.race([taken, line.closed]);
    }
    // Discarded bytes, and those in the kernel's buffers.
    expect(sent).toBeLessThan(64 * 2 ** 20);
  },
);
