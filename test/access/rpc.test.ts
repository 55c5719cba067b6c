import { create } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test, vi } from "vitest";
import { PrincipalKind } from "../../gen/mooring/v1/access_pb.js";
import {
  AccessService,
  CreateTokenRequestSchema,
  RotateTokenRequestSchema,
} from "../../gen/mooring/v1/access_service_pb.js";
import { Admission, createGrant, type Grant, ROOT } from "../../src/access/grant.ts";
import { accessImpl } from "../../src/access/rpc.ts";
import type { AccessService as AccessRules } from "../../src/access/service.ts";
import type { StoredPrincipal, StoredToken } from "../../src/access/store.ts";
import type { TokenView } from "../../src/access/token.ts";
import { type CallInfo, callKey } from "../../src/gateway/call.ts";
import { samplePrincipal, sampleToken } from "./sample.ts";

const PRINCIPAL = samplePrincipal({ name: "bot", createdAt: 1, createdBy: "ann" });
const TOKEN = sampleToken({ limits: ["key:a"], comment: "c", createdAt: 1, createdBy: "ann" });
const VIEW: TokenView = {
  token: TOKEN,
  principal: "bot",
  isActive: true,
  expiresSoon: false,
  use: undefined,
};

function served(view: TokenView = VIEW, principal: StoredPrincipal = PRINCIPAL) {
  const access = {
    principals: vi.fn(() => ({ items: [principal], next: "n" })),
    createPrincipal: vi.fn(async () => principal),
    disablePrincipal: vi.fn(async () => principal),
    tokens: vi.fn(async () => ({ items: [view], next: "n" })),
    createToken: vi.fn(async () => ({ ...view, text: "mrg_" })),
    rotateToken: vi.fn(async () => ({ ...view, text: "mrg_" })),
    revokeToken: vi.fn(async () => view),
    expiringTokens: () => [],
    unrenewedTokens: () => [],
    endOf: vi.fn((id: string) => (id === TOKEN.id ? 9_000 : undefined)),
  } satisfies AccessRules;
  return { access, rpc: accessImpl(access) };
}

function contextOf(info: Partial<CallInfo> | undefined): HandlerContext {
  const values = createContextValues().set(callKey, info as CallInfo | undefined);
  return { values, method: AccessService.method.whoAmI, requestHeader: new Headers() } as never;
}
const by = (grant: Grant, actor: string, tokenId = "") =>
  contextOf({
    transport: "rest",
    requestId: "r",
    peer: "::1",
    actor,
    principal: new Admission({ name: actor, tokenId, grant }, "", 0),
  });
const admin = by(ROOT, "admin");
const CALLER = { actor: "admin", transport: "rest", requestId: "r", peer: "::1", grant: ROOT };

const request = {} as never;

test("principals are sent with their kinds and times", async () => {
  const { rpc, access } = served();
  const plain = { name: "bot", kind: PrincipalKind.PROGRAM, createdBy: "ann" };
  const list = await rpc.listPrincipals({ pageSize: 1, pageToken: "x" } as never, admin);
  expect(list).toMatchObject({ principals: [plain], nextPageToken: "n" });
  expect(list.principals?.[0]).not.toHaveProperty("disableTime");
  expect(access.principals).toHaveBeenCalledWith({ pageSize: 1, pageToken: "x" });
  for (const [kind, name] of [
    [PrincipalKind.PERSON, "person"],
    [PrincipalKind.PROGRAM, "program"],
    [PrincipalKind.UNSPECIFIED, "program"],
  ] as const) {
    const made = await rpc.createPrincipal({ name: "bot", kind } as never, admin);
    expect(made).toMatchObject({ principal: plain });
    const caller = expect.objectContaining(CALLER);
    expect(access.createPrincipal).toHaveBeenLastCalledWith("bot", name, caller);
  }
  const disabled = served(VIEW, { ...PRINCIPAL, kind: "person", disabledAt: 5 }).rpc;
  expect(await disabled.disablePrincipal({ name: "bot" } as never, admin)).toMatchObject({
    principal: { kind: PrincipalKind.PERSON, disableTime: timestampFromMs(5) },
  });
});

describe("a token is sent", () => {
  const sent = async (more: Partial<StoredToken>, view: Partial<TokenView> = {}) => {
    const { rpc } = served({ ...VIEW, ...view, token: { ...TOKEN, ...more } });
    const { tokens = [], nextPageToken } = await rpc.listTokens(request, admin);
    expect(nextPageToken).toBe("n");
    return tokens[0];
  };

  test("with its members, and without those that are absent", async () => {
    const plain = await sent({});
    expect(plain).toMatchObject({
      id: TOKEN.id,
      principal: "bot",
      scopes: ["settings:read"],
      limits: ["key:a"],
      comment: "c",
      createTime: timestampFromMs(1),
      createdBy: "ann",
      replacedBy: "",
      revokedBy: "",
      lastUsePeer: "",
      active: true,
      expiresSoon: false,
    });
    for (const name of ["expireTime", "revokeTime", "lastUseTime"])
      expect(plain).not.toHaveProperty(name);
    const use = { tokenId: TOKEN.id, time: 7, peer: "::7" };
    const revoked = { replacedBy: "next", revokedAt: 5, revokedBy: "eve" };
    expect(await sent(revoked, { use, isActive: false, expiresSoon: true })).toMatchObject({
      replacedBy: "next",
      revokeTime: timestampFromMs(5),
      revokedBy: "eve",
      lastUseTime: timestampFromMs(7),
      lastUsePeer: "::7",
      active: false,
      expiresSoon: true,
    });
  });

  test.each([
    [20, 10, 10],
    [10, 20, 10],
    [20, null, 20],
    [null, 20, 20],
  ])("that expires at %s and %s with the earlier end", async (expiresAt, notAfter, end) => {
    const time = (await sent({ expiresAt, notAfter }))?.expireTime;
    expect(time && timestampMs(time as never)).toBe(end);
  });
});

describe("a request", () => {
  const caller = expect.objectContaining(CALLER);

  test("to create a token has an expiry, or none", async () => {
    const { rpc, access } = served();
    const wanted = { principal: "bot", scopes: ["a"], limits: ["b"], comment: "c" };
    const expireTime = timestampFromMs(5);
    const make = (more: object) =>
      rpc.createToken(create(CreateTokenRequestSchema, { ...wanted, ...more }), admin);
    expect(await make({ expireTime })).toMatchObject({ token: { id: TOKEN.id }, secret: "mrg_" });
    const input = { ...wanted, expiresAt: 5, neverExpires: false };
    expect(access.createToken).toHaveBeenLastCalledWith(input, caller);
    await make({ neverExpires: true });
    const never = { ...input, expiresAt: undefined, neverExpires: true };
    expect(access.createToken).toHaveBeenLastCalledWith(never, caller);
  });

  test("to rotate a token has an overlap and an expiry in milliseconds, or neither", async () => {
    const { rpc, access } = served();
    const rotate = (more: object) =>
      rpc.rotateToken(create(RotateTokenRequestSchema, { id: "i", ...more }), admin);
    const times = { overlap: durationFromMs(1_500), expireTime: timestampFromMs(5) };
    expect(await rotate(times)).toMatchObject({ token: { id: TOKEN.id }, secret: "mrg_" });
    const input = { id: "i", overlap: 1_500, expiresAt: 5 };
    expect(access.rotateToken).toHaveBeenLastCalledWith(input, caller);
    await rotate({});
    const none = { id: "i", overlap: undefined, expiresAt: undefined };
    expect(access.rotateToken).toHaveBeenLastCalledWith(none, caller);
  });

  test("to revoke a token has its id", async () => {
    const { rpc, access } = served();
    const reply = await rpc.revokeToken({ id: "i" } as never, admin);
    expect(reply).toMatchObject({ token: { id: TOKEN.id } });
    expect(access.revokeToken).toHaveBeenCalledWith("i", caller);
  });
});

describe("whoami", () => {
  const identify = (context: HandlerContext) => served().rpc.whoAmI(request, context);

  test("returns the token's principal, rights and expiry", async () => {
    const grant = createGrant(["settings:write"], ["key:a"]);
    expect(await identify(by(grant, `bot/${TOKEN.id}`, TOKEN.id))).toMatchObject({
      principal: "bot",
      tokenId: TOKEN.id,
      peer: "::1",
      limits: ["key:a"],
      scopes: ["settings:read", "settings:write"],
      expireTime: timestampFromMs(9_000),
    });
  });

  test.each<[string, HandlerContext, string]>([
    ["the permanent token", admin, "admin"],
    ["a command on the database", contextOf(undefined), "admin"],
    ["another root", by(ROOT, "cli"), "cli"],
    ["a visitor named admin", by(createGrant(["settings:read"], []), "admin"), "admin"],
  ])("returns %s by name, without a token", async (_, context, principal) => {
    const reply = await identify(context);
    expect(reply).toMatchObject({ principal, tokenId: "" });
    expect(reply).not.toHaveProperty("expireTime");
  });
});
