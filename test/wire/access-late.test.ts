import { request } from "node:http";
import { connect } from "node:http2";
import { create, toBinary } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import {
  SaveSettingsRequestSchema,
  WatchSettingsRequestSchema,
} from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService } from "./service.ts";

const service = startedForAll(startService);

/** A call whose headers and part of its body have been sent. */
interface Begun {
  /** Sends the rest. @returns the reply. */
  end(): Promise<string>;
}

const SAVE = JSON.stringify([{ key: "site_title", value: "too late" }]);

function http1(path: string, token: string, body: string): Begun {
  const sent = request({
    ...{ host: "127.0.0.1", port: service.port, path, method: "POST", agent: false },
    headers: {
      ...{ authorization: token, "content-type": "application/json" },
      "content-length": body.length,
    },
  });
  sent.write(body.slice(0, 5));
  return {
    end: () =>
      new Promise((resolve, reject) => {
        sent.on("error", reject);
        sent.on("response", (reply) => {
          let text = "";
          reply.setEncoding("utf8").on("data", (part: string) => {
            text += part;
          });
          reply.on("end", () => resolve(text));
        });
        sent.end(body.slice(5));
      }),
  };
}

function http2(path: string, token: string, body: Buffer, type: string): Begun {
  const session = connect(`http://127.0.0.1:${service.port}`);
  const stream = session.request({
    ...{ ":method": "POST", ":path": path, authorization: token },
    ...{ "content-type": type, te: "trailers" },
  });
  let text = "";
  const note = (headers: object): void => {
    text += JSON.stringify(headers);
  };
  stream.on("response", note).on("trailers", note);
  stream.on("data", (part: Buffer) => {
    text += part.toString("latin1");
  });
  stream.write(body.subarray(0, 5));
  return {
    end: () =>
      new Promise((resolve, reject) => {
        stream.on("error", reject);
        stream.on("close", () => {
          session.close();
          resolve(text);
        });
        stream.end(body.subarray(5));
      }),
  };
}

function framed(message: Uint8Array): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

const saved = framed(
  toBinary(
    SaveSettingsRequestSchema,
    create(SaveSettingsRequestSchema, { settings: [{ key: "site_title", value: "too late" }] }),
  ),
);
const watched = framed(
  toBinary(
    WatchSettingsRequestSchema,
    create(WatchSettingsRequestSchema, { keys: ["site_title"] }),
  ),
);
const RPC = "/mooring.v1.SettingService";

const calls: readonly (readonly [string, (token: string) => Begun, RegExp])[] = [
  ["a save over REST", (token) => http1("/api/admin/setting/save", token, SAVE), /"code":401/],
  [
    "a save over REST on HTTP/2",
    (token) => http2("/api/admin/setting/save", token, Buffer.from(SAVE), "application/json"),
    /"code":401/,
  ],
  [
    "a save over Connect",
    (token) => http1(`${RPC}/SaveSettings`, token, `{"settings":${SAVE}}`),
    /unauthenticated/,
  ],
  [
    "a save over gRPC",
    (token) => http2(`${RPC}/SaveSettings`, token, saved, "application/grpc"),
    /"grpc-status":"16"/,
  ],
  [
    "a stream over gRPC",
    (token) => http2(`${RPC}/WatchSettings`, token, watched, "application/grpc"),
    /"grpc-status":"16"/,
  ],
  [
    "a stream over gRPC-Web",
    (token) => http2(`${RPC}/WatchSettings`, token, watched, "application/grpc-web+proto"),
    /grpc-status"?: ?"?16/,
  ],
];

describe("a call whose body arrives after its token was revoked", () => {
  test.each(calls)("%s is refused, and nothing is changed", async (_name, begin, refused) => {
    const root = as(service.port);
    const { text, id } = await give(root, ["settings:write"]);
    const begun = begin(text);
    // Its headers have arrived, as far as a client can detect.
    for (let round = 0; round < 5; round += 1) await root.access.whoAmI({});
    await root.access.revokeToken({ id });
    expect(await begun.end()).toMatch(refused);
    const { setting } = await root.settings.getSetting({ key: "site_title" });
    expect(setting?.value).not.toBe("too late");
  });
});
