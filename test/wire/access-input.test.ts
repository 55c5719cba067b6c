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

/** Limits with too many characters in total, and too many limits. */
const LONG = Array.from({ length: 20 }, (_, at) => `key:${"a".repeat(240)}${at}`);
const MANY = Array.from({ length: 101 }, (_, at) => `key:a${at}`);
const end = { seconds: 9_999_999_999n };
const value = "another-token-0123456789-0123456789";
const chinese = /\p{Script=Han}/u;

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

/** A caller and its requests; ids are names of tokens. */
interface Refused {
  readonly by: string;
  readonly method: DescMethodUnary;
  readonly code: Code;
  readonly rows: readonly (readonly [english: RegExp, request: object, chinese: RegExp | string])[];
}

const refused: readonly Refused[] = [
  {
    by: "manager",
    method: createToken,
    code: Code.InvalidArgument,
    rows: [
      [/at most 4096 characters in total/, { limits: LONG }, chinese],
      [/at most 100 limits/, { limits: MANY }, /一个令牌最多有 100 条限制/],
      [/give each scope once/, { scopes: MANY.map(() => "drivers:read") }, chinese],
      [/unknown scope "settings:all": the scopes are/, { scopes: ["settings:all"] }, chinese],
      [/unknown scope "all"/, { scopes: ["all"] }, /"all" 不是权限，可用的有：settings:read, /],
      [/at least one scope/, { scopes: [] }, /至少给出一个权限：/],
      // The right of the permanent token is no scope.
      [/unknown scope "root"/, { scopes: ["root"] }, chinese],
      [/invalid limit "s3_\*": write key:NAME/, { limits: ["s3_*"] }, /"s3_\*" 不是限制：/],
      [/invalid limit "key:a b"/, { limits: ["key:a b"] }, chinese],
      [/invalid limit "group:site"/, { limits: ["group:site"] }, chinese],
      [
        /sites:read cannot be limited/,
        { scopes: ["sites:read"], limits: ["key:a"] },
        /sites:read 不能加限制/,
      ],
      [/in the past: the time is 20/, { expireTime: { seconds: 1n } }, /到期时间已经过去/],
      [/not both/, { expireTime: end, neverExpires: true }, /只能给出其中一个/],
      [/more than 200 characters/, { comment: "x".repeat(201) }, /备注超过 200 个字符/],
    ],
  },
  {
    by: "manager",
    method: createToken,
    code: Code.PermissionDenied,
    rows: [
      [
        /can only grant scopes that it has: this token does not have settings:read/,
        { scopes: ["drivers:read", "settings:read"] },
        "给出的权限不能多于自己拥有的：此令牌没有权限 settings:read",
      ],
    ],
  },
  {
    by: "manager",
    method: createToken,
    code: Code.FailedPrecondition,
    rows: [[/"disabled" is disabled/, { principal: "disabled" }, '主体 "disabled" 已停用']],
  },
  {
    by: "manager",
    method: rotateToken,
    code: Code.PermissionDenied,
    rows: [[/can only grant scopes that it has/, { id: "rotated" }, chinese]],
  },
  {
    by: "manager",
    method: rotateToken,
    code: Code.InvalidArgument,
    rows: [
      [
        /0 to 30 days/,
        { id: "rotated", overlap: { seconds: 99_999_999n } },
        /重叠时间为 0 到 30 天/,
      ],
      [/must be 0 to 30 days/, { id: "rotated", overlap: { seconds: -1n } }, chinese],
    ],
  },
  {
    by: "root",
    method: rotateToken,
    code: Code.FailedPrecondition,
    rows: [
      [/has expired: create a new one/, { id: "ended" }, /^令牌 \w{12} 已到期：请另建一个$/],
      [/has been rotated already/, { id: "rotated" }, chinese],
    ],
  },
  {
    by: "manager",
    method: revokeToken,
    code: Code.NotFound,
    rows: [[/no token with the id "nothing"/, { id: "nothing" }, '没有 ID 为 "nothing" 的令牌']],
  },
  {
    by: "manager",
    method: createPrincipal,
    code: Code.InvalidArgument,
    rows: [
      [/invalid name "No name"/, { name: "No name" }, /"No name" 不行/],
      [/reserved by the program/, { name: "admin" }, /且不能是程序自己使用的名称：/],
    ],
  },
  {
    by: "manager",
    method: createPrincipal,
    code: Code.AlreadyExists,
    rows: [
      [
        /the principal "taken" exists already, as a program: create tokens for it/,
        { name: "taken" },
        /已经有主体 "taken"（程序）：请为它创建令牌/,
      ],
      [
        /the principal "disabled" exists already and is disabled for good: choose another name/,
        { name: "disabled" },
        /已经有主体 "disabled"，它已永久停用/,
      ],
    ],
  },
  {
    by: "manager",
    method: disablePrincipal,
    code: Code.NotFound,
    rows: [[/there is no principal "nobody"/, { name: "nobody" }, '没有主体 "nobody"']],
  },
  {
    by: "reader",
    method: deleteSetting,
    code: Code.PermissionDenied,
    rows: [[/the scope settings:delete/, { key: "x" }, "此令牌没有权限 settings:delete"]],
  },
  {
    by: "writer",
    method: resetToken,
    code: Code.PermissionDenied,
    rows: [[/requires the permanent admin token/, {}, "此操作只能用永久管理员令牌本身"]],
  },
  {
    by: "writer",
    method: saveSettings,
    code: Code.PermissionDenied,
    rows: [
      [
        /only the permanent admin token can change/,
        { settings: [{ key: "token", value }] },
        "永久管理员令牌只能用它自己来更改",
      ],
    ],
  },
  {
    by: "limited",
    method: getSetting,
    code: Code.PermissionDenied,
    rows: [
      [/limited to key:s3_\*/, { key: "logo" }, "此令牌只限于 key:s3_*：没有读取或更改任何内容"],
    ],
  },
  {
    by: "ended",
    method: getSetting,
    code: Code.Unauthenticated,
    rows: [
      [
        /unknown, revoked or expired/,
        { key: "logo" },
        "此令牌有误、已被撤销或已到期：请向发放者索取新的令牌",
      ],
    ],
  },
];

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));

  describe.each(refused)("$method.name by the $by", ({ by, method, code, rows }) => {
    test.each(rows)("%s, also in Chinese", async (english, { ...request }, translated) => {
      if (!transport.carries(method)) return;
      const made = method === createToken ? { principal: "x", scopes: ["drivers:read"] } : {};
      const id = "id" in request ? { id: ids[String(request.id)] ?? request.id } : {};
      const headers = { authorization: tokens[by] ?? "", "accept-language": "zh-CN" };
      const outcome = await invoke(transport, method, { ...made, ...request, ...id }, headers);
      const localized =
        typeof translated === "string" ? translated : expect.stringMatching(translated);
      expect(outcome).toMatchObject({
        kind: "failure",
        code: transport.codeOf(code),
        message: expect.stringMatching(english),
      });
      if (outcome.kind === "reply") return;
      expect(outcome.message).toMatch(/^[\x20-\x7e]+$/);
      expect(outcome.localized).not.toEqual([]);
      for (const sentence of outcome.localized) expect(sentence).toEqual(localized);
    });
  });
});
