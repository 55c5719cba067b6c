import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  UserDifferenceSchema,
  type User as UserMessage,
  UserResultSchema,
  UserSchema,
} from "../../gen/mooring/v1/user_pb.js";
import {
  CompareUsersResponseSchema,
  CopyUsersResponseSchema,
  ListUsersResponseSchema,
  type UserService as UserServiceDesc,
} from "../../gen/mooring/v1/user_service_pb.js";
import { whileAllowed } from "../access/grant.ts";
import { originOf } from "../audit/entry.ts";
import type { Language, Translate } from "../messages/language.ts";
import { createSayIn } from "../messages/localize.ts";
import type { Text } from "../messages/message.ts";
import type { UserResult } from "./copy.ts";
import type { UserService } from "./service.ts";
import { isBuiltIn, permissionNames, type User, type UserFamily } from "./user.ts";

/** Implements UserService. */
export function userImpl(
  users: UserService,
  translations: (language: Language) => Translate,
): ServiceImpl<typeof UserServiceDesc> {
  const sayIn = createSayIn(translations);
  return {
    listUsers: async ({ site }, context) => {
      const { family, users: found } = await whileAllowed(context, () =>
        users.list(site, context.signal),
      );
      return create(ListUsersResponseSchema, {
        users: found.map((user) => userToProto(user, family)),
      });
    },
    compareUsers: async ({ from, to, all }, context) => {
      const { families, comparisons } = await whileAllowed(context, () =>
        users.compare(from, to, context.signal),
      );
      const [here, there] = families;
      return create(CompareUsersResponseSchema, {
        differences: comparisons
          .filter(({ state }) => all || state !== "same")
          .map(({ name, state, differs, from: user, to: other }) =>
            create(UserDifferenceSchema, {
              name,
              state,
              differs: [...differs],
              ...(user && { from: userToProto(user, here) }),
              ...(other && { to: userToProto(other, there) }),
            }),
          ),
      });
    },
    copyUsers: async (request, context) => {
      const { from, to, names, update, dryRun, password, passwords, randomPasswords } = request;
      const options = {
        names,
        update,
        dryRun,
        passwords: { all: password, byName: passwords, random: randomPasswords },
      };
      const call = { origin: originOf(context), signal: context.signal };
      const results = await whileAllowed(context, () => users.copy(from, to, options, call));
      const say = sayIn(context);
      return create(CopyUsersResponseSchema, {
        results: results.map((result) => resultToProto(result, say)),
      });
    },
  };
}

function userToProto(user: User, family: UserFamily): UserMessage {
  const { name, basePath, roles, disabled, permission, ssoId, allowLdap } = user;
  return create(UserSchema, {
    name,
    basePath,
    disabled,
    permission,
    ssoId,
    roles: [...roles],
    permissions: permissionNames(permission, family),
    builtIn: isBuiltIn(user),
    ...(allowLdap === undefined ? {} : { allowLdap }),
  });
}

function resultToProto(result: UserResult, say: (text: Text) => string) {
  const { name, outcome, reason, differs, lost, notes, password } = result;
  return create(UserResultSchema, {
    name,
    outcome,
    password,
    reason: say(reason),
    differs: [...differs],
    lost: lost.map(say),
    notes: notes.map(say),
  });
}
