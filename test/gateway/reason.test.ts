import type { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.js";
import { MESSAGE_LIMITS } from "../../src/transport/decode.ts";
import { defineRpcs, type Rpc } from "./contract.ts";
import { echo } from "./gateway-server.ts";
import { MOUNTS } from "./mount.ts";

const responseBody = "word";
const JSON_TYPE = { "content-type": "application/json" };

describe("an error of the gateway itself has a reason", () => {
  const rpcs: readonly Rpc[] = [
    { name: "Get", http: { get: "/get/{small}", responseBody }, reads: true },
    { name: "Post", http: { post: "/post", body: "*", responseBody } },
  ];
  const post = (body: string, headers: Record<string, string> = JSON_TYPE): RequestInit => ({
    method: "POST",
    body,
    headers,
  });
  const CONNECT = "/test.v1.ThingService/Post";
  const cases: readonly (readonly [string, string, RequestInit | undefined])[] = [
    ["PATH_INVALID", "/get/x", undefined],
    ["QUERY_INVALID", "/get/1?yes=x", undefined],
    ["HEADER_INVALID", "/get/1", { headers: { "x-server-timeout": "soon" } }],
    ["BODY_INVALID", "/post", post("{")],
    ["BODY_INVALID", "/post", post('{"text":1}')],
    ["BODY_TOO_LARGE", "/post", post(`{"text":"${"a".repeat(200)}"}`)],
    ["MEDIA_TYPE_UNSUPPORTED", "/post", post("a", { "content-type": "text/css" })],
    ["METHOD_NOT_ALLOWED", "/get/1", { method: "PUT" }],
    ["BODY_INVALID", CONNECT, post('{"text":1}')],
    ["BODY_INVALID", CONNECT, post("a", { "content-type": "application/proto" })],
    ["BODY_TOO_LARGE", CONNECT, post(`{"text":"${"a".repeat(200)}"}`)],
    ["HEADER_INVALID", CONNECT, post("{}", { ...JSON_TYPE, "connect-timeout-ms": "soon" })],
  ];

  test.each(MOUNTS.flatMap(([name, mount]) => cases.map((one) => [name, ...one, mount] as const)))(
    "over %s: %s %s",
    async (_mount, reason, path, init, mount) => {
      const explain = (error: ConnectError) =>
        error.details.push({ desc: LocalizedMessageSchema, value: { locale: "x", message: "y" } });
      const methods = defineRpcs(rpcs).map(echo);
      const bounds = { maxBytes: 100 };
      const ask = await mount({ methods, bounds, errorDomain: "test", explain });
      const reply = await ask(path, init);
      const { message, details } = (await reply.json()) as ErrorReply;
      const [info, localized] = details.map((one) => one.debug ?? one);
      expect(info).toMatchObject({ reason, domain: "test", metadata: { problem: message } });
      expect(localized).toMatchObject({ locale: "x", message: "y" });
      if (!path.startsWith(CONNECT)) expect(reply.headers.get("error-reason")).toBe(reason);
    },
  );
});

/** google.rpc.Status, or an error of Connect, whose details have their JSON in `debug`. */
interface ErrorReply {
  readonly message: string;
  readonly details: readonly { readonly debug?: object }[];
}

describe.each(MOUNTS)("over %s the limits of an rpc's messages", (_, mount) => {
  const messageLimits = ({ name }: { readonly name: string }) =>
    name === "Few" ? { values: 3, text: 10 } : MESSAGE_LIMITS;
  const ask = async (path: string, body: string): Promise<Response> => {
    const methods = defineRpcs([
      { name: "Few", http: { post: "/few", body: "*", responseBody } },
      { name: "Many", http: { post: "/many", body: "*", responseBody } },
    ]).map(echo);
    const send = await mount({ methods, messageLimits });
    return send(path, { method: "POST", headers: JSON_TYPE, body });
  };

  test.each([
    ['{"texts":["a","b","c","d"]}', "the body holds more than 3 values"],
    ['{"text":"elevenbytes"}', "the body has a text of more than 10 bytes"],
    ['{"text":"éééééé"}', "the body has a text of more than 10 bytes"],
  ])("refuse %s", async (body, message) => {
    for (const path of ["/few", "/test.v1.ThingService/Few"])
      expect(await (await ask(path, body)).json()).toMatchObject({ message });
    expect((await ask("/many", body)).status).toBe(200);
  });

  test("count an escape as the character that it stands for", async () => {
    const text = String.raw`"\u0061\u0062\"\\"`;
    expect((await ask("/few", `{"text":${text}}`)).status).toBe(200);
    const message = "the body has a text of more than 10 bytes";
    const long = String.raw`"\u0061bcdefghijk"`;
    expect(await (await ask("/few", `{"text":${long}}`)).json()).toMatchObject({ message });
  });
});
