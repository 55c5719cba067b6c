import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const { createToken, rotateToken, revokeToken, createPrincipal, disablePrincipal } =
  AccessService.method;
const { getSetting, saveSettings, deleteSetting, resetToken } = SettingService.method;

const value = "another-token-0123456789-0123456789";

const service = startedForAll(startService);
const tokens: Record<string, string> = { root: TOKEN };
const ids: Record<string, string> = {};

beforeAll(async () => {
  const root = as(service.port);
  const make = async (name: string, scopes: readonly string[], limits: string[] = []) => {
    const { text, id } = await give(root, scopes, limits, name);
    [tokens[name], ids[name]] = [text, id];
  };
  await make("reader", ["settings:read"]);
  await make("limited", ["settings:write"], ["key:s3_*"]);
  await make("writer", ["settings:write", "settings:reveal"]);
  await make("manager", ["tokens:manage", "drivers:read"]);
  await make("ended", ["settings:read"]);
  await root.access.revokeToken({ id: ids["ended"] ?? "" });
  await make("rotated", ["settings:read"]);
  await root.access.rotateToken({ id: ids["rotated"] ?? "" });
  await root.access.createPrincipal({ name: "taken" });
  await root.access.createPrincipal({ name: "disabled" });
  await root.access.disablePrincipal({ name: "disabled" });
});

type Row = readonly [
  method: DescMethodUnary,
  code: Code,
  request: object,
  english: RegExp,
  chinese: RegExp,
];

/** Requests of each caller; ids are names of tokens. Every invalid value: test/access. */
const refused: Readonly<Record<string, readonly Row[]>> = {
  manager: [
    [createToken, Code.InvalidArgument, { scopes: ["x"] }, /unknown scope "x"/, /"x" 不是权限/],
    [createToken, Code.InvalidArgument, { expireTime: { seconds: 1n } }, /in the past/, /已经过去/],
    [
      createToken,
      Code.PermissionDenied,
      { scopes: ["drivers:read", "settings:read"] },
      /can only grant scopes that it has: this token does not have settings:read/,
      /^给出的权限不能多于自己拥有的：此令牌没有权限 settings:read$/,
    ],
    [
      createToken,
      Code.FailedPrecondition,
      { principal: "disabled" },
      /"disabled" is disabled/,
      /^主体 "disabled" 已停用$/,
    ],
    [rotateToken, Code.PermissionDenied, { id: "rotated" }, /can only grant scopes/, /给出的权限/],
    [
      rotateToken,
      Code.InvalidArgument,
      { id: "rotated", overlap: { seconds: -1n } },
      /must be 0 to 30 days/,
      /重叠时间为 0 到 30 天/,
    ],
    [
      revokeToken,
      Code.NotFound,
      { id: "nothing" },
      /no token with the id "nothing"/,
      /^没有 ID 为 "nothing" 的令牌$/,
    ],
    [createPrincipal, Code.InvalidArgument, { name: "No name" }, /invalid name/, /"No name" 不行/],
    [
      createPrincipal,
      Code.InvalidArgument,
      { name: "admin" },
      /reserved by the program/,
      /且不能是程序自己使用的名称：/,
    ],
    [
      createPrincipal,
      Code.AlreadyExists,
      { name: "taken" },
      /the principal "taken" exists already, as a program: create tokens for it/,
      /已经有主体 "taken"（程序）：请为它创建令牌/,
    ],
    [
      createPrincipal,
      Code.AlreadyExists,
      { name: "disabled" },
      /the principal "disabled" exists already and is disabled for good: choose another name/,
      /已经有主体 "disabled"，它已永久停用/,
    ],
    [
      disablePrincipal,
      Code.NotFound,
      { name: "nobody" },
      /there is no principal "nobody"/,
      /^没有主体 "nobody"$/,
    ],
  ],
  root: [
    [
      rotateToken,
      Code.FailedPrecondition,
      { id: "ended" },
      /has expired: create a new one/,
      /^令牌 \w{12} 已到期：请另建一个$/,
    ],
  ],
  reader: [
    [
      deleteSetting,
      Code.PermissionDenied,
      { key: "x" },
      /the scope settings:delete/,
      /^此令牌没有权限 settings:delete$/,
    ],
  ],
  writer: [
    [
      resetToken,
      Code.PermissionDenied,
      {},
      /requires the permanent admin token/,
      /^此操作只能用永久管理员令牌本身$/,
    ],
    [
      saveSettings,
      Code.PermissionDenied,
      { settings: [{ key: "token", value }] },
      /only the permanent admin token can change/,
      /^永久管理员令牌只能用它自己来更改$/,
    ],
  ],
  limited: [
    [
      getSetting,
      Code.PermissionDenied,
      { key: "logo" },
      /limited to key:s3_\*/,
      /^此令牌只限于 key:s3_\*：没有读取或更改任何内容$/,
    ],
  ],
  ended: [
    [
      getSetting,
      Code.Unauthenticated,
      { key: "logo" },
      /unknown, revoked or expired/,
      /^此令牌有误、已被撤销或已到期：请向发放者索取新的令牌$/,
    ],
  ],
};
const rows = Object.entries(refused).flatMap(([by, all]) =>
  all.map((row) => [`${row[0].name} by the ${by}: ${row[3].source}`, by, ...row] as const),
);

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));

  test.each(rows)("%s", async (_name, by, method, code, { ...request }, english, chinese) => {
    if (!transport.carries(method)) return;
    const made = method === createToken ? { principal: "x", scopes: ["drivers:read"] } : {};
    const id = "id" in request ? { id: ids[String(request.id)] ?? request.id } : {};
    const headers = { authorization: tokens[by] ?? "", "accept-language": "zh-CN" };
    const outcome = await invoke(transport, method, { ...made, ...request, ...id }, headers);
    expect(outcome).toMatchObject({
      kind: "failure",
      code: transport.codeOf(code),
      message: expect.stringMatching(english),
    });
    if (outcome.kind === "reply") return;
    expect(outcome.message).toMatch(/^[\x20-\x7e]+$/);
    expect(outcome.localized).not.toEqual([]);
    for (const sentence of outcome.localized) expect(sentence).toMatch(chinese);
  });
});
