import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { enveloped } from "./raw/cuttable.ts";
import { FRAME, framesOf, RawHttp2 } from "./raw/http2.ts";
import { dial } from "./raw/line.ts";
import { REFLECTION } from "./raw/reflection.ts";
import { askHttp2, saying, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";

const { saveSettings, getSetting } = SettingService.method;

const service = startedForAll(() => startService({ env: { MOORING_GRPC_LISTEN: "" } }));

const path = "/mooring.v1.SettingService/GetSetting";
const question = Buffer.from(
  toBinary(getSetting.input, create(getSetting.input, { key: "site_title" })),
);
const admin = { authorization: TOKEN };

describe("a request with a gRPC content type", () => {
  const call = { ":method": "POST", ":path": path, ...admin };

  test.each(["application/grpc", "application/grpc+proto"])("as %s is served", async (type) => {
    const headers = { ...call, "content-type": type };
    const answer = await askHttp2(service.port, headers, enveloped(question));
    expect(answer.headers).toMatchObject({ "grpc-status": "0" });
    expect(answer.text).toContain("site_title");
  });

  test.each(["application/grpc+json", "application/grpc+thrift", "application/grpc;x=y"])(
    "as %s is refused, for a known path and for reflection",
    async (type) => {
      for (const where of [path, REFLECTION]) {
        const headers = { ...call, ":path": where, "content-type": type };
        for (const body of [enveloped(question), undefined]) {
          const answer = await askHttp2(service.port, headers, body);
          expect(answer).toMatchObject({ status: 415, text: "" });
        }
      }
    },
  );

  test.each(["PUT", "GET", "DELETE"])("by %s is refused", async (method) => {
    for (const where of [path, REFLECTION]) {
      const headers = { ...call, ":method": method, ":path": where, "content-type": GRPC };
      for (const body of [enveloped(question), undefined]) {
        const answer = await askHttp2(service.port, headers, body);
        expect(answer).toMatchObject({ status: 405, text: "" });
      }
    }
  });

  test("with details has them unpadded", async () => {
    const wrong = Buffer.from(
      toBinary(
        saveSettings.input,
        create(saveSettings.input, { settings: [{ key: "default_page_size", value: "x" }] }),
      ),
    );
    const headers = {
      ...call,
      ":path": `/mooring.v1.SettingService/${saveSettings.name}`,
      "content-type": GRPC,
    };
    const answer = await askHttp2(service.port, headers, enveloped(wrong));
    expect(answer.headers["grpc-status"]).toBe("3");
    expect(answer.headers["grpc-status-details-bin"]).toMatch(/^[\w+/]+$/);
  });

  test("with a message in its status escapes no more than required", async () => {
    const answer = await askHttp2(
      service.port,
      { ...call, authorization: "x", "content-type": GRPC },
      enveloped(question),
    );
    expect(answer.headers["grpc-message"]).toMatch(/^invalid token: compare it with/);
  });
});

const GRPC = "application/grpc";

describe("a message in its envelope", () => {
  const kinds = [
    ["grpc", path],
    ["grpc-web+proto", path],
    ["connect+proto", "/mooring.v1.SettingService/WatchSettings"],
  ] as const;

  test.each(kinds)("of %s with an unknown compression is refused", async (type, where) => {
    const headers = {
      ":method": "POST",
      ":path": where,
      "content-type": `application/${type}`,
      ...admin,
    };
    const answer = await askHttp2(service.port, headers, enveloped(question, 1));
    expect(textOf(answer)).toMatch(saying("internal"));
  });
});

describe("HTTP/1.1", () => {
  /** Sends requests in sequence on one connection, and reads until a pong or the end. */
  const exchange = async (...requests: readonly (string | Buffer)[]): Promise<string> => {
    const line = await dial(service.port);
    for (const request of requests) line.socket.write(request);
    line.socket.write("GET /ping HTTP/1.1\r\nhost: a\r\n\r\n");
    const answered = line.until((received) => /pong$/.test(`${received}`));
    return `${await Promise.race([answered, line.closed])}`;
  };

  test("with two Host headers is refused", async () => {
    const received = await exchange(
      "GET /api/public/settings HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    );
    expect(received).toMatch(/^HTTP\/1\.1 400 [\s\S]*give one Host header/);
    expect(received).not.toContain("site_title");
  });

  test.each([
    ["GET http://mooring.example/api/public/settings", "", "site_title"],
    ["GET HTTPS://mooring.example:5244/api/admin/setting/get?key=site_title", "", "site_title"],
    ["GET http://mooring.example/nowhere", "", "nothing is served at /nowhere"],
    [`POST http://mooring.example${path}`, '{"key":"site_title"}', "site_title"],
  ])("accepts an absolute URL as its target: %s", async (target, body, pattern) => {
    const received = await exchange(
      `${target} HTTP/1.1\r\nhost: a\r\nauthorization: ${TOKEN}\r\ncontent-type: application/json\r\n`,
      body === "" ? "\r\n" : `content-length: ${body.length}\r\n\r\n${body}`,
    );
    expect(received).toContain(pattern);
    expect(received).toMatch(/pong$/);
  });

  test.each([
    ["grpc-web+proto", path],
    ["connect+proto", "/mooring.v1.SettingService/WatchSettings"],
    ["connect+json", "/mooring.v1.SettingService/WatchSettings"],
  ])(
    "an envelope of %s with an excessive declared length does not stop the next request",
    async (type, where) => {
      for (const token of [TOKEN, "guessed"]) {
        const received = await exchange(
          `POST ${where} HTTP/1.1\r\nhost: a\r\nauthorization: ${token}\r\n`,
          `content-type: application/${type}\r\ncontent-length: 250005\r\n\r\n`,
          Buffer.from([0, 0xff, 0xff, 0xff, 0xff]),
          Buffer.alloc(250_000),
        );
        expect(received).toMatch(
          token === TOKEN ? saying("invalid_argument") : saying("unauthenticated"),
        );
        expect(received).toMatch(/pong$/);
      }
    },
  );
});

test("too many headers on one HTTP/2 stream end no other stream", async () => {
  const client = await RawHttp2.open(service.port);
  const common = { ":scheme": "http", ":authority": "a" };
  const watch = { ...common, ":method": "GET", ":path": "/api/public/settings/watch" };
  client.headers(1, watch, true);
  await client.until(
    ({ kind, stream, payload }) =>
      kind === FRAME.data && stream === 1 && payload.includes("site_title"),
  );
  const ping = { ...common, ":method": "GET", ":path": "/ping" };
  const metadata = Object.fromEntries(
    Array.from({ length: 10 }, (_, n) => [`x-${n}`, "m".repeat(7_000)]),
  );
  client.headers(3, { ...ping, ...metadata }, true);
  await client.settled();
  client.headers(5, ping, true);
  await client.until(
    ({ kind, stream, payload }) => kind === FRAME.data && stream === 5 && payload.includes("pong"),
  );
  const frames = framesOf(client.line.received());
  expect(frames.filter(({ kind }) => kind === FRAME.goaway)).toEqual([]);
  expect(
    frames.filter(({ kind, stream }) => kind === FRAME.data && stream === 3),
  ).not.toContainEqual(expect.objectContaining({ payload: Buffer.from("pong") }));
});
