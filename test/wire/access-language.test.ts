import {
  type Client,
  Code,
  type ConnectError,
  createClient,
  type Transport,
} from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test } from "vitest";
import { BadRequestSchema, LocalizedMessageSchema } from "../../gen/google/rpc/error_details_pb.js";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";
import { http1Sender } from "./transport/http.ts";

const service = startedForAll(startService);
const tokens: Record<string, string> = { root: TOKEN };
let ended: string;
beforeAll(async () => {
  const root = as(service.port);
  const managing = ["tokens:manage", "settings:delete"];
  const make = async (name: string, scopes: readonly string[], limits: string[] = []) => {
    tokens[name] = (await give(root, scopes, limits, name)).text;
  };
  await make("reader", ["settings:read"]);
  await make("limited", ["settings:write"], ["key:s3_*"]);
  await make("writer", ["settings:write", "settings:reveal"]);
  await make("manager", managing);
  const { text, id } = await give(root, ["settings:read"], [], "ended");
  tokens["ended"] = text;
  ended = id;
  await root.access.revokeToken({ id });
  await root.access.createPrincipal({ name: "taken" });
  await root.access.disablePrincipal({ name: "taken" });
});

interface Clients {
  readonly settings: Client<typeof SettingService>;
  readonly access: Client<typeof AccessService>;
}

type Call = (clients: Clients) => Promise<unknown>;

const read = ["settings:read"];
const value = "another-token-0123456789-0123456789";

/** Caller, method, and the Chinese text of the error, or of a violation. */
const cases: readonly (readonly [string, string, Call, string | RegExp])[] = [
  [
    "a scope is missing",
    "reader",
    ({ settings }) => settings.deleteSetting({ key: "x" }),
    "此令牌没有权限范围 settings:delete",
  ],
  [
    "the method needs the permanent token",
    "writer",
    ({ settings }) => settings.resetToken({}),
    "此操作只能用永久管理员令牌本身",
  ],
  [
    "the setting is outside the limits",
    "limited",
    ({ settings }) => settings.getSetting({ key: "logo" }),
    "此令牌只限于 key:s3_*：没有读取或更改任何内容",
  ],
  [
    "the permanent token belongs to another",
    "writer",
    ({ settings }) => settings.saveSettings({ settings: [{ key: "token", value }] }),
    "永久管理员令牌只能用它自己来更改",
  ],
  [
    "it grants more rights than the caller has",
    "manager",
    ({ access }) => access.createToken({ principal: "x", scopes: ["history:read"] }),
    "给出的权限不能多于自己拥有的：此令牌没有权限范围 history:read",
  ],
  [
    "the token has ended",
    "ended",
    ({ settings }) => settings.getSetting({ key: "logo" }),
    "此令牌有误、已被撤销或已到期：请向发放者索取新的令牌",
  ],
  [
    "the name is in use",
    "root",
    ({ access }) => access.createPrincipal({ name: "taken" }),
    '已经有主体 "taken"',
  ],
  [
    "the principal is disabled",
    "root",
    ({ access }) => access.createToken({ principal: "taken", scopes: read }),
    '主体 "taken" 已停用',
  ],
  [
    "the principal does not exist",
    "root",
    ({ access }) => access.disablePrincipal({ name: "nobody" }),
    '没有主体 "nobody"',
  ],
  [
    "the token does not exist",
    "root",
    ({ access }) => access.revokeToken({ id: "nothing" }),
    '没有 ID 为 "nothing" 的令牌',
  ],
  [
    "an ended token is rotated",
    "root",
    ({ access }) => access.rotateToken({ id: ended }),
    /^令牌 \w{12} 已到期：请另建一个$/,
  ],
  [
    "a scope is invalid",
    "root",
    ({ access }) => access.createToken({ principal: "x", scopes: ["all"] }),
    /"all" 不是权限范围，可用的有：settings:read, /,
  ],
  [
    "the scopes are empty",
    "root",
    ({ access }) => access.createToken({ principal: "x" }),
    /至少给出一个权限范围：/,
  ],
  [
    "a limit is invalid",
    "root",
    ({ access }) => access.createToken({ principal: "x", scopes: read, limits: ["s3_*"] }),
    /"s3_\*" 不是限制：/,
  ],
  [
    "there are too many limits",
    "root",
    ({ access }) =>
      access.createToken({
        principal: "x",
        scopes: read,
        limits: Array.from({ length: 101 }, (_, at) => `key:a${at}`),
      }),
    /一个令牌最多有 100 条限制/,
  ],
  [
    "a scope cannot be limited",
    "root",
    ({ access }) =>
      access.createToken({ principal: "x", scopes: ["sites:read"], limits: ["key:a"] }),
    /sites:read 不能加限制/,
  ],
  [
    "the expiry is in the past",
    "root",
    ({ access }) =>
      access.createToken({ principal: "x", scopes: read, expireTime: { seconds: 1n } }),
    /到期时间已经过去/,
  ],
  [
    "there is an expiry and never_expires",
    "root",
    ({ access }) =>
      access.createToken({
        principal: "x",
        scopes: read,
        expireTime: { seconds: 9_999_999_999n },
        neverExpires: true,
      }),
    /只能给出其中一个/,
  ],
  [
    "the comment is too long",
    "root",
    ({ access }) => access.createToken({ principal: "x", scopes: read, comment: "x".repeat(201) }),
    /备注超过 200 个字符/,
  ],
  [
    "the overlap is too long",
    "root",
    ({ access }) => access.rotateToken({ id: "x", overlap: { seconds: 99_999_999n } }),
    /重叠时间为 0 到 30 天/,
  ],
  [
    "the name is invalid",
    "root",
    ({ access }) => access.createPrincipal({ name: "A b" }),
    /"A b" 不行/,
  ],
  [
    "the name is reserved",
    "root",
    ({ access }) => access.createPrincipal({ name: "root" }),
    /且不能是程序自己使用的名称：/,
  ],
];

describe.each<[string, (baseUrl: string) => Transport]>([
  ["gRPC", (baseUrl) => createGrpcTransport({ baseUrl })],
  ["Connect", (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })],
  ["gRPC-Web", (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })],
])("over %s, in Chinese", (_name, transportOf) => {
  test.each(cases)("%s", async (_what, caller, call, said) => {
    const transport = withHeaders(transportOf(`http://127.0.0.1:${service.port}`), {
      authorization: tokens[caller] ?? "",
      "accept-language": "zh-CN",
    });
    const clients = {
      settings: createClient(SettingService, transport),
      access: createClient(AccessService, transport),
    };
    const error = await call(clients).then(
      () => undefined,
      (thrown: ConnectError) => thrown,
    );
    const text = error?.findDetails(LocalizedMessageSchema)[0];
    expect(text).toMatchObject({ locale: "zh-CN" });
    if (typeof said === "string") expect(text?.message).toBe(said);
    else expect(text?.message).toMatch(said);
    expect(error?.rawMessage).toMatch(/^[\x20-\x7e]+$/);
    for (const violation of error?.findDetails(BadRequestSchema)[0]?.fieldViolations ?? [])
      expect(violation.localizedMessage?.message).toMatch(said);
  });
});

test("over REST, in Chinese", async () => {
  const send = http1Sender(service.port);
  const headers = { "accept-language": "zh-CN" };
  const ask = async (path: string, caller: string, body?: unknown) => {
    const method = body === undefined ? "GET" : "POST";
    const asking = { headers: { ...headers, authorization: tokens[caller] ?? "" }, method };
    return (await send(path, body === undefined ? asking : { ...asking, body })).json;
  };
  const said = (code: Code, message: unknown) => ({
    code: code === Code.PermissionDenied ? 403 : 401,
    localized_message: { locale: "zh-CN", message },
  });
  expect(await ask("/api/admin/setting/get?key=logo", "limited")).toMatchObject(
    said(Code.PermissionDenied, "此令牌只限于 key:s3_*：没有读取或更改任何内容"),
  );
  expect(await ask("/api/admin/access/tokens", "reader")).toMatchObject(
    said(Code.PermissionDenied, "此令牌没有权限范围 tokens:manage"),
  );
  expect(await ask("/api/admin/setting/list", "ended")).toMatchObject(
    said(Code.Unauthenticated, expect.stringContaining("已到期")),
  );
});

function withHeaders(transport: Transport, headers: Record<string, string>): Transport {
  return {
    ...transport,
    unary: (method, signal, timeout, given, ...rest) =>
      transport.unary(method, signal, timeout, { ...headers, ...given }, ...rest),
    stream: (method, signal, timeout, given, ...rest) =>
      transport.stream(method, signal, timeout, { ...headers, ...given }, ...rest),
  };
}
