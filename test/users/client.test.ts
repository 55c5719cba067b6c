import { expect, test } from "vitest";
import { message } from "../../src/messages/message.ts";
import { SiteFailure } from "../../src/sync/failure.ts";
import { createUserClient, type UserMembers } from "../../src/users/client.ts";

const ANN = {
  id: 3,
  username: "ann",
  role: [1],
  base_path: "/",
  permission: 0,
  disabled: false,
  sso_id: "",
};
const MEMBERS: UserMembers = {
  basePath: "/films",
  disabled: true,
  permission: 0,
  ssoId: "",
  allowLdap: undefined,
};

type Kind = ConstructorParameters<typeof SiteFailure>[0];

/** A server whose updates end in this way, one after the other. */
function clientOf(ends: readonly (Kind | "stored")[]) {
  const remaining = [...ends];
  const client = createUserClient({
    at: "http://server",
    close: () => undefined,
    call: async (_method, path) => {
      if (path.includes("/get?")) return ANN;
      const end = remaining.shift();
      if (end === undefined) throw new Error("one call too many");
      if (end !== "stored") throw new SiteFailure(end, message("USER_EXISTS"));
      return null;
    },
  });
  return { update: () => client.update({ id: 3, name: "ann" }, MEMBERS), remaining };
}

test.each<[what: string, ends: readonly (Kind | "stored")[], outcome: string]>([
  ["stored twice", ["stored", "stored"], "updated"],
  ["a first call without an answer, then stored twice", ["silent", "stored", "stored"], "updated"],
  ["an unreachable server that comes back", ["unreachable", "stored", "stored"], "updated"],
  ["a second call that fails", ["stored", "silent"], "noted"],
  ["no answer, then stored once", ["silent", "stored", "refused"], "noted"],
  ["no answer twice", ["silent", "silent"], "failed"],
  ["a refusal, which stores nothing", ["refused"], "failed"],
])("an update with %s", async (_what, ends, outcome) => {
  const { update, remaining } = clientOf(ends);
  const ended = await update().then(
    (failure) => (failure === undefined ? "updated" : "noted"),
    (error: unknown) => (error instanceof SiteFailure ? "failed" : String(error)),
  );
  expect([ended, remaining]).toEqual([outcome, []]);
});
