import { create, type DescMethodUnary, type MessageInitShape } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, describe, expect, test } from "vitest";
import { AccessService } from "../../gen/mooring/v1/access_service_pb.js";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";

const { method } = AccessService;
const scopes = ["drivers:read"];
const future = { seconds: 9_999_999_999n };

const service = startedForAll(startService);
let manager: string;
let ended: string;
let rotated: string;
beforeAll(async () => {
  const root = as(service.port);
  manager = (await give(root, ["tokens:manage", "drivers:read"], [], "manager")).text;
  ended = (await give(root, ["settings:read"], [], "ended")).id;
  await root.access.revokeToken({ id: ended });
  rotated = (await give(root, ["settings:read"], [], "rotated")).id;
  await root.access.rotateToken({ id: rotated });
  await root.access.createPrincipal({ name: "taken" });
  await root.access.createPrincipal({ name: "disabled" });
  await root.access.disablePrincipal({ name: "disabled" });
});

type Case = readonly [what: string, DescMethodUnary, () => object, Code, RegExp];
const make = (members: object) => () => ({ principal: "x", scopes, ...members });

const cases: readonly Case[] = [
  [
    "limits that are too long together",
    method.createToken,
    make({ limits: Array.from({ length: 20 }, (_, index) => `key:${"a".repeat(240)}${index}`) }),
    Code.InvalidArgument,
    /at most 4096 characters in total/,
  ],
  [
    "more scopes than a token can have",
    method.createToken,
    make({ scopes: Array.from({ length: 101 }, () => "drivers:read") }),
    Code.InvalidArgument,
    /give each scope once/,
  ],
  [
    "an unknown scope",
    method.createToken,
    make({ scopes: ["settings:all"] }),
    Code.InvalidArgument,
    /unknown scope "settings:all": the scopes are settings:read, /,
  ],
  [
    "no scope",
    method.createToken,
    make({ scopes: [] }),
    Code.InvalidArgument,
    /at least one scope/,
  ],
  [
    "the permanent token's right as a scope",
    method.createToken,
    make({ scopes: ["root"] }),
    Code.InvalidArgument,
    /unknown scope "root"/,
  ],
  [
    "an invalid glob",
    method.createToken,
    make({ limits: ["s3_*"] }),
    Code.InvalidArgument,
    /invalid limit "s3_\*": write key:NAME/,
  ],
  [
    "a glob with a character that no key has",
    method.createToken,
    make({ limits: ["key:a b"] }),
    Code.InvalidArgument,
    /invalid limit/,
  ],
  [
    "an invalid group",
    method.createToken,
    make({ limits: ["group:site"] }),
    Code.InvalidArgument,
    /invalid limit/,
  ],
  [
    "a limit of a scope without limits",
    method.createToken,
    make({ scopes: ["sites:read"], limits: ["key:a"] }),
    Code.InvalidArgument,
    /sites:read cannot be limited/,
  ],
  [
    "an end in the past",
    method.createToken,
    make({ expireTime: { seconds: 1n } }),
    Code.InvalidArgument,
    /the expiry time is in the past: the time is 20/,
  ],
  [
    "an expiry and never_expires",
    method.createToken,
    make({ expireTime: future, neverExpires: true }),
    Code.InvalidArgument,
    /not both/,
  ],
  [
    "more rights than the caller has",
    method.createToken,
    make({ scopes: ["drivers:read", "settings:read"] }),
    Code.PermissionDenied,
    /a token can only grant scopes that it has: this token does not have settings:read/,
  ],
  [
    "a successor with more rights than the caller has",
    method.rotateToken,
    () => ({ id: rotated }),
    Code.PermissionDenied,
    /can only grant scopes that it has/,
  ],
  [
    "an invalid name",
    method.createPrincipal,
    () => ({ name: "No name" }),
    Code.InvalidArgument,
    /invalid name "No name"/,
  ],
  [
    "a reserved name",
    method.createPrincipal,
    () => ({ name: "admin" }),
    Code.InvalidArgument,
    /reserved by the program/,
  ],
  [
    "a name in use",
    method.createPrincipal,
    () => ({ name: "taken" }),
    Code.AlreadyExists,
    /the principal "taken" exists already/,
  ],
  [
    "a disabled principal",
    method.createToken,
    make({ principal: "disabled", scopes: ["drivers:read"] }),
    Code.FailedPrecondition,
    /"disabled" is disabled/,
  ],
  [
    "a missing principal",
    method.disablePrincipal,
    () => ({ name: "nobody" }),
    Code.NotFound,
    /there is no principal "nobody"/,
  ],
  [
    "a missing token",
    method.revokeToken,
    () => ({ id: "nothing" }),
    Code.NotFound,
    /there is no token with the id "nothing"/,
  ],
  [
    "an overlap that is too long",
    method.rotateToken,
    () => ({ id: rotated, overlap: { seconds: 99_999_999n } }),
    Code.InvalidArgument,
    /0 to 30 days/,
  ],
  [
    "a negative overlap",
    method.rotateToken,
    () => ({ id: rotated, overlap: { seconds: -1n } }),
    Code.InvalidArgument,
    /0 to 30 days/,
  ],
];
/** Cases that would be refused otherwise without root's rights. */
const asRoot: readonly Case[] = [
  [
    "an ended token",
    method.rotateToken,
    () => ({ id: ended }),
    Code.FailedPrecondition,
    /has expired: create a new one/,
  ],
  [
    "a token with a successor",
    method.rotateToken,
    () => ({ id: rotated }),
    Code.FailedPrecondition,
    /has been rotated already/,
  ],
];

describe.each(sharedPortTransports)("over $name", ({ open }) => {
  const check = async ([, desc, members, code, message]: Case, token: string) => {
    const transport = open(service);
    if (!transport.carries(desc)) return;
    const request = create(desc.input, members() as MessageInitShape<typeof desc.input>);
    const outcome = await transport.call(desc, request, { headers: { authorization: token } });
    transport.close();
    expect(outcome).toMatchObject({
      ...{ kind: "failure", code: transport.codeOf(code) },
      message: expect.stringMatching(message),
    });
  };
  test.each(cases)("%s", (...one) => check(one, manager));
  test.each(asRoot)("%s", (...one) => check(one, TOKEN));
});
