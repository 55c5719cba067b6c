import { create } from "@bufbuild/protobuf";
import { type Duration, durationFromMs, timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { PrincipalKind } from "../../gen/mooring/v1/access_pb.js";
import {
  AccessService,
  CreateTokenRequestSchema,
  ListTokensRequestSchema,
} from "../../gen/mooring/v1/access_service_pb.js";
import { Admission, createGrant, type Grant, ROOT } from "../../src/access/grant.ts";
import { accessImpl } from "../../src/access/rpc.ts";
import { type CallInfo, callKey } from "../../src/gateway/call.ts";
import { openedAccess, START } from "./opened.ts";

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

const WANTED = {
  principal: "bot",
  scopes: ["settings:read"],
  limits: ["key:a"],
  comment: "c",
};

/** The rpcs over the real service. */
async function served() {
  const opened = await openedAccess();
  const rpc = accessImpl(opened.access);
  const make = async (more: object, context = admin) =>
    rpc.createToken(create(CreateTokenRequestSchema, { ...WANTED, ...more }), context);
  const list = async () => (await rpc.listTokens(create(ListTokensRequestSchema), admin)).tokens;
  return { ...opened, rpc, make, list };
}

test.each([
  [PrincipalKind.PERSON, PrincipalKind.PERSON],
  [PrincipalKind.PROGRAM, PrincipalKind.PROGRAM],
  [PrincipalKind.UNSPECIFIED, PrincipalKind.PROGRAM],
])("a principal of the kind %i is sent as %i, with its times", async (kind, shown) => {
  const { rpc, clock } = await served();
  const bot = { name: "bot", kind: shown, createTime: timestampFromMs(START), createdBy: "admin" };
  const { principal } = await rpc.createPrincipal({ name: "bot", kind } as never, admin);
  expect(principal).toMatchObject(bot);
  expect(principal).not.toHaveProperty("disableTime");
  clock.now += 5;
  const disabled = { ...bot, disableTime: timestampFromMs(START + 5) };
  const reply = await rpc.disablePrincipal({ name: "bot" } as never, admin);
  expect(reply).toMatchObject({ principal: disabled });
  await rpc.createPrincipal({ name: "cat", kind } as never, admin);
  const page = await rpc.listPrincipals({ pageSize: 1, pageToken: "" } as never, admin);
  expect(page).toMatchObject({ principals: [disabled], nextPageToken: "bot" });
});

describe("a token", () => {
  test("is sent with its members, and without those that are absent", async () => {
    const { rpc, store, clock, make, list } = await served();
    const { token: { id = "" } = {}, secret } = await make({ neverExpires: true });
    expect(secret).toMatch(/^mrg_/);
    const [plain] = (await list()) ?? [];
    expect(plain).toMatchObject({
      ...WANTED,
      id,
      createTime: timestampFromMs(START),
      createdBy: "admin",
      replacedBy: "",
      revokedBy: "",
      lastUsePeer: "",
      active: true,
      expiresSoon: false,
    });
    for (const name of ["expireTime", "revokeTime", "lastUseTime"])
      expect(plain).not.toHaveProperty(name);
    await store.recordUses([{ tokenId: id, time: 7, peer: "::7" }]);
    const next = await rpc.rotateToken({ id } as never, admin);
    clock.now += 5;
    const token = {
      id,
      replacedBy: next.token?.id,
      revokeTime: timestampFromMs(clock.now),
      revokedBy: "eve",
      active: false,
    };
    expect(await rpc.revokeToken({ id } as never, by(ROOT, "eve"))).toMatchObject({ token });
    const used = { ...token, lastUseTime: timestampFromMs(7), lastUsePeer: "::7" };
    expect(await list()).toContainEqual(expect.objectContaining(used));
  });

  test.each<[expires: number | undefined, overlap: Duration | undefined, end: number]>([
    [20_000, undefined, 20_000],
    [20_000, durationFromMs(1_500), 1_500],
    [1_000, durationFromMs(1_500), 1_000],
    [undefined, durationFromMs(1_500), 1_500],
  ])("that expires after %s ms, with the overlap %o, ends first", async (expires, overlap, end) => {
    const { rpc, clock, make, list } = await served();
    const expireTime = expires && timestampFromMs(START + expires);
    const { token: { id = "" } = {} } = await make({ expireTime, neverExpires: !expires });
    if (overlap !== undefined) {
      const later = timestampFromMs(START + 9);
      const next = await rpc.rotateToken({ id, overlap, expireTime: later } as never, admin);
      expect(next).toMatchObject({ token: { expireTime: later }, secret: expect.any(String) });
    }
    clock.now = START + end - 1;
    const isSoon = overlap === undefined;
    const ended = { id, expireTime: timestampFromMs(START + end), expiresSoon: isSoon };
    expect(await list()).toContainEqual(expect.objectContaining(ended));
  });

  test("is given with the rights of the caller", async () => {
    const { make } = await served();
    const reader = by(createGrant(["settings:read"], []), "bot");
    expect(await make({}, reader)).toMatchObject({ token: { createdBy: "bot" } });
    const more = make({ scopes: ["settings:write"] }, reader);
    await expect(more).rejects.toMatchObject({ code: Code.PermissionDenied });
  });
});

describe("whoami", () => {
  test("returns the token's principal, rights and expiry", async () => {
    const { rpc, make } = await served();
    const { token: { id = "" } = {} } = await make({ expireTime: timestampFromMs(START + 9_000) });
    const grant = createGrant(["settings:write"], ["key:a"]);
    expect(await rpc.whoAmI({} as never, by(grant, `bot/${id}`, id))).toMatchObject({
      principal: "bot",
      tokenId: id,
      peer: "::1",
      limits: ["key:a"],
      scopes: ["settings:read", "settings:write"],
      expireTime: timestampFromMs(START + 9_000),
    });
  });

  test.each<[string, HandlerContext, string]>([
    ["the permanent token", admin, "admin"],
    ["a command on the database", contextOf(undefined), "admin"],
    ["another root", by(ROOT, "cli"), "cli"],
    ["a visitor named admin", by(createGrant(["settings:read"], []), "admin"), "admin"],
  ])("returns %s by name, without a token", async (_, context, principal) => {
    const reply = await (await served()).rpc.whoAmI({} as never, context);
    expect(reply).toMatchObject({ principal, tokenId: "" });
    expect(reply).not.toHaveProperty("expireTime");
  });
});
