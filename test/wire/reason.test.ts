import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { type As, as, jsonOf } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { enveloped } from "./raw/cuttable.ts";
import { exchange } from "./raw/line.ts";
import { askHttp2, textOf } from "./raw/refusal.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const { saveSettings } = SettingService.method;
const TEXT = "更新标题 – Grüße";
const base64 = Buffer.from(TEXT).toString("base64");

/** Reasons in the newest revision and in the newest row of the audit. */
async function stored(admin: As): Promise<readonly [string | undefined, string]> {
  const { revisions } = await admin.settings.listRevisions({ pageSize: 1 });
  const { events } = await admin.audit.listAuditEvents({ pageSize: 1 });
  return [revisions[0]?.reason, jsonOf(events[0])];
}

describe.each(sharedPortTransports)("the reason of a change over $name", (entry) => {
  const service = startedForAll(startService);
  const transport = startedForAll(() => entry.open(service));
  const admin = startedForAll(() => as(service.port));
  let count = 0;

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

const RPC = "/mooring.v1.SettingService/SaveSettings";
const proto = ({ settings }: { settings: { key: string; value: string }[] }) =>
  enveloped(Buffer.from(toBinary(saveSettings.input, create(saveSettings.input, { settings }))));

/** Path, content type and body of a save over each protocol. */
const forms: Readonly<
  Record<string, readonly [string, string, (change: Parameters<typeof proto>[0]) => Buffer]>
> = {
  REST: [
    "/api/admin/setting/save",
    "application/json",
    ({ settings }) => Buffer.from(JSON.stringify(settings)),
  ],
  Connect: [RPC, "application/json", (change) => Buffer.from(JSON.stringify(change))],
  "gRPC-Web": [RPC, "application/grpc-web+proto", proto],
  gRPC: [RPC, "application/grpc", proto],
};

describe("a header of bytes", () => {
  const service = startedForAll(startService);

  test.each(Object.entries(forms))("is read as UTF-8 over %s", async (name, [path, type, form]) => {
    const admin = as(service.port);
    /** Saves a title with a reason of these bytes, one character each. */
    const send = async (value: string, reason: string): Promise<string> => {
      const body = form({ settings: [{ key: "site_title", value }] });
      const fields = { authorization: TOKEN, "content-type": type, "x-change-reason": reason };
      if (name === "gRPC") {
        const head = { ":method": "POST", ":path": path, te: "trailers", ...fields };
        return textOf(await askHttp2(service.port, head, body));
      }
      const head = Object.entries({ host: "a", connection: "close", ...fields })
        .map(([field, text]) => `${field}: ${text}\r\n`)
        .join("");
      const framed = `POST ${path} HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n`;
      return exchange(service.port, [Buffer.from(framed, "latin1"), body]);
    };
    await send(`over ${name}`, Buffer.from(TEXT).toString("latin1"));
    const [revision, audited] = await stored(admin);
    expect(revision).toBe(TEXT);
    expect(audited).toContain(TEXT);
    expect(await send("refused", "\xe9t\xe9")).toMatch(
      /x-change-reason is not UTF-8|grpc-status: 3/,
    );
    expect(await stored(admin)).toEqual([revision, audited]);
    admin.close();
  });
});
