import { create } from "@bufbuild/protobuf";
import { durationMs, timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import {
  type Principal,
  PrincipalKind,
  PrincipalSchema,
  type Token,
  TokenSchema,
} from "../../gen/mooring/v1/access_pb.js";
import {
  type AccessService as AccessServiceDesc,
  CreatePrincipalResponseSchema,
  CreateTokenResponseSchema,
  DisablePrincipalResponseSchema,
  ListPrincipalsResponseSchema,
  ListTokensResponseSchema,
  RevokeTokenResponseSchema,
  RotateTokenResponseSchema,
  WhoAmIResponseSchema,
} from "../../gen/mooring/v1/access_service_pb.js";
import { originOf } from "../audit/entry.ts";
import { type CallInfo, callKey } from "../gateway/call.ts";
import type { AccessCaller } from "./change.ts";
import { ADMIN_NAME, admissionOf, grantOf } from "./grant.ts";
import type { AccessService } from "./service.ts";
import type { StoredPrincipal } from "./store.ts";
import type { TokenView } from "./token.ts";

/** Implements AccessService. */
export function accessImpl(access: AccessService): ServiceImpl<typeof AccessServiceDesc> {
  return {
    listPrincipals: (page) => {
      const { items, next } = access.principals(page);
      return create(ListPrincipalsResponseSchema, {
        principals: items.map(principalOf),
        nextPageToken: next,
      });
    },
    createPrincipal: async ({ name, kind }, context) => {
      const kindName = kind === PrincipalKind.PERSON ? "person" : "program";
      const made = await access.createPrincipal(name, kindName, callerOf(context));
      return create(CreatePrincipalResponseSchema, { principal: principalOf(made) });
    },
    disablePrincipal: async ({ name }, context) =>
      create(DisablePrincipalResponseSchema, {
        principal: principalOf(await access.disablePrincipal(name, callerOf(context))),
      }),
    listTokens: async (query) => {
      const { items, next } = await access.tokens(query);
      return create(ListTokensResponseSchema, { tokens: items.map(tokenOf), nextPageToken: next });
    },
    createToken: async (
      { principal, scopes, limits, comment, expireTime, neverExpires },
      context,
    ) => {
      const expiresAt = expireTime && timestampMs(expireTime);
      const input = { principal, scopes, limits, comment, expiresAt, neverExpires };
      const { text, ...view } = await access.createToken(input, callerOf(context));
      return create(CreateTokenResponseSchema, { token: tokenOf(view), secret: text });
    },
    rotateToken: async ({ id, overlap, expireTime }, context) => {
      const input = {
        id,
        overlap: overlap && durationMs(overlap),
        expiresAt: expireTime && timestampMs(expireTime),
      };
      const { text, ...view } = await access.rotateToken(input, callerOf(context));
      return create(RotateTokenResponseSchema, { token: tokenOf(view), secret: text });
    },
    revokeToken: async ({ id }, context) =>
      create(RevokeTokenResponseSchema, {
        token: tokenOf(await access.revokeToken(id, callerOf(context))),
      }),
    whoAmI: (_request, context) => {
      const info = infoOf(context);
      const { actor = "", peer = "" } = info;
      const tokenId = admissionOf(info)?.tokenId ?? "";
      const { isRoot, scopes, limits } = grantOf(context);
      const end = access.endOf(tokenId);
      return create(WhoAmIResponseSchema, {
        principal: tokenId === "" ? nameOf(actor, isRoot) : actor.slice(0, -tokenId.length - 1),
        tokenId,
        scopes: [...scopes],
        limits: [...limits],
        peer,
        ...(end === undefined ? {} : { expireTime: timestampFromMs(end) }),
      });
    },
  };
}

/** Name of the caller; commands on the database are by the owner of the permanent token. */
function nameOf(actor: string, isRoot: boolean): string {
  return isRoot && actor === "" ? ADMIN_NAME : actor;
}

function infoOf(context: HandlerContext): Partial<CallInfo> {
  return context.values.get(callKey) ?? {};
}

function callerOf(context: HandlerContext): AccessCaller {
  return { ...originOf(context), grant: grantOf(context) };
}

function time(ms: number | null | undefined) {
  return ms === null || ms === undefined ? undefined : timestampFromMs(ms);
}

function principalOf({ name, kind, createdAt, createdBy, disabledAt }: StoredPrincipal): Principal {
  return create(PrincipalSchema, {
    name,
    kind: kind === "person" ? PrincipalKind.PERSON : PrincipalKind.PROGRAM,
    createTime: time(createdAt),
    createdBy,
    disableTime: time(disabledAt),
  });
}

function tokenOf({ token, principal, isActive, expiresSoon, use }: TokenView): Token {
  const ends = [token.expiresAt, token.notAfter].filter((end) => end !== null);
  return create(TokenSchema, {
    id: token.id,
    principal,
    scopes: [...token.scopes],
    limits: [...token.limits],
    comment: token.comment,
    createTime: time(token.createdAt),
    createdBy: token.createdBy,
    expireTime: ends.length === 0 ? undefined : time(Math.min(...ends)),
    replacedBy: token.replacedBy ?? "",
    revokeTime: time(token.revokedAt),
    revokedBy: token.revokedBy ?? "",
    lastUseTime: time(use?.time),
    lastUsePeer: use?.peer ?? "",
    active: isActive,
    expiresSoon,
  });
}
