import { once } from "node:events";
import { connect } from "node:http2";
import { createConnection } from "node:net";
import { text } from "node:stream/consumers";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  SaveSettingsRequestSchema,
  SettingService,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { type As, as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke, type Transport } from "./transport/transport.ts";

const { saveSettings } = SettingService.method;
const TEXT = "更新标题 – Grüße";
const base64 = Buffer.from(TEXT).toString("base64");

const plain = (_: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);

/** Reasons in the newest revision and in the newest row of the audit. */
async function stored(admin: As): Promise<readonly [string | undefined, string]> {
  const { revisions } = await admin.settings.listRevisions({ pageSize: 1 });
  const { events } = await admin.audit.listAuditEvents({ pageSize: 1 });
  return [revisions[0]?.reason, JSON.stringify(events[0], plain)];
}

describe.each(sharedPortTransports)("the reason of a change over $name", (entry) => {
  const service = startedForAll(startService);
  let transport: Transport;
  let admin: As;
  let count = 0;

  beforeAll(() => {
    transport = entry.open(service);
    admin = as(service.port);
  });

  afterAll(() => {
    transport.close();
    admin.close();
  });

  const save = (headers: Record<string, string>, reason = "") => {
    count += 1;
    const settings = [{ key: "site_title", value: `title ${count}` }];
    return invoke(
      transport,
      saveSettings,
      { settings, reason },
      { authorization: TOKEN, ...headers },
    );
  };
  test.each([
    ["percent-encoded", { "x-change-reason": encodeURIComponent(TEXT) }],
    ["bytes in base64", { "x-change-reason-bin": base64 }],
  ])("is stored, as %s", async (_, headers) => {
    expect((await save(headers)).kind).toBe("reply");
    const [revision, audited] = await stored(admin);
    expect(revision).toBe(TEXT);
    expect(audited).toContain(TEXT);
  });

  test("of the request precedes that of the header", async () => {
    expect((await save({ "x-change-reason": "%ff" }, "of the request")).kind).toBe("reply");
    expect((await stored(admin))[0]).toBe("of the request");
  });

  test.each([
    ["x-change-reason", "%E6%9B"],
    ["x-change-reason-bin", Buffer.from([0xff, 0xfe]).toString("base64")],
  ])("in %s is refused if it is not UTF-8: %j", async (name, value) => {
    const before = await stored(admin);
    expect(await save({ [name]: value })).toMatchObject({
      kind: "failure",
      code: transport.codeOf(Code.InvalidArgument),
      fields: [name],
    });
    expect(await stored(admin)).toEqual(before);
  });
});

/** Saves of one setting whose reason is a header of these bytes, one character each. */
const senders: Readonly<Record<string, (port: number, reason: string) => Promise<string>>> = {
  REST: (port, reason) =>
    overHttp1(
      port,
      "/api/admin/setting/save",
      "application/json",
      JSON.stringify([changed()]),
      reason,
    ),
  Connect: (port, reason) =>
    overHttp1(port, RPC, "application/json", JSON.stringify({ settings: [changed()] }), reason),
  "gRPC-Web": (port, reason) => overHttp1(port, RPC, "application/grpc-web+proto", frame(), reason),
  gRPC: async (port, reason) => {
    const session = connect(`http://127.0.0.1:${port}`);
    const stream = session.request({
      ":method": "POST",
      ":path": RPC,
      "content-type": "application/grpc",
      te: "trailers",
      authorization: TOKEN,
      "x-change-reason": reason,
    });
    stream.end(Buffer.from(frame(), "latin1"));
    let status = "";
    const read = (headers: Readonly<Record<string, unknown>>): void => {
      status = String(headers["grpc-status"] ?? status);
    };
    stream.on("response", read).on("trailers", read).resume();
    await once(stream, "close");
    session.close();
    return `grpc-status: ${status}`;
  },
};

const RPC = "/mooring.v1.SettingService/SaveSettings";
let saves = 0;

function changed() {
  saves += 1;
  return { key: "site_title", value: `raw ${saves}` };
}

/** The message in a gRPC frame, one character for each byte. */
function frame(): string {
  const bytes = Buffer.from(
    toBinary(
      SaveSettingsRequestSchema,
      create(SaveSettingsRequestSchema, { settings: [changed()] }),
    ),
  );
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]).toString("latin1");
}

async function overHttp1(
  port: number,
  path: string,
  type: string,
  body: string,
  reason: string,
): Promise<string> {
  const head = [
    `POST ${path} HTTP/1.1`,
    "Host: localhost",
    "Connection: close",
    `Authorization: ${TOKEN}`,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
    `X-Change-Reason: ${reason}`,
  ];
  const socket = createConnection({ port, host: "127.0.0.1" });
  socket.write(`${head.join("\r\n")}\r\n\r\n${body}`, "latin1");
  return (await text(socket)) as string;
}

describe("a header of bytes", () => {
  const service = startedForAll(startService);

  test.each(Object.entries(senders))("is read as UTF-8 over %s", async (_, send) => {
    const admin = as(service.port);
    await send(service.port, Buffer.from(TEXT).toString("latin1"));
    const [revision, audited] = await stored(admin);
    expect(revision).toBe(TEXT);
    expect(audited).toContain(TEXT);
    expect(await send(service.port, "\xe9t\xe9")).toMatch(
      /x-change-reason is not UTF-8|grpc-status: 3/,
    );
    expect(await stored(admin)).toEqual([revision, audited]);
    admin.close();
  });
});
