// Calls at once on one site.
import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForEach } from "../started.ts";
import { as } from "./access-client.ts";
import { startService } from "./service.ts";

const home = startedForEach(startStandIn);
const service = startedForEach(startService);
const admin = startedForEach(() => as(service.port));

test.each<[string, () => Promise<unknown>]>([
  ["removal", () => admin.sites.deleteSite({ name: "home" })],
  ["check", () => admin.sites.checkSite({ name: "home" })],
  ["comparison", () => admin.sites.compareSite({ name: "home" })],
  ["sync", () => admin.sites.syncSite({ name: "home" })],
  ["adoption", () => admin.sites.adoptSite({ name: "home" })],
  ["change", () => admin.sites.updateSite({ name: "home", site: { paused: true } })],
  ["sync of mounts", () => admin.mounts.syncMounts({ site: "home" })],
  ["adoption of mounts", () => admin.mounts.adoptMounts({ site: "home" })],
  ["comparison of mounts", () => admin.mounts.compareMounts({ site: "home" })],
  ["sync of rules", () => admin.rules.syncRules({ site: "home" })],
  ["adoption of rules", () => admin.rules.adoptRules({ site: "home" })],
  ["comparison of rules", () => admin.rules.compareRules({ site: "home" })],
  ["list of users", () => admin.users.listUsers({ site: "home" })],
])(
  "a %s during the removal of the site is done, or says that the site is gone",
  async (_name, call) => {
    await admin.sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
    // All wait for the read of the site that goes on.
    const { promise: until, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
    home.hold = () => {
      held();
      return until;
    };
    const reading = admin.sites.compareSite({ name: "home" });
    await isHeld;
    const both = Promise.allSettled([admin.sites.deleteSite({ name: "home" }), call()]);
    await admin.sites.listSites({});
    release();
    await reading.catch(() => undefined);
    const [removal, other] = await both;
    expect(removal.status).toBe("fulfilled");
    const { code } = ConnectError.from(other.status === "rejected" ? other.reason : "");
    if (other.status === "rejected")
      expect([Code.NotFound, Code.FailedPrecondition, Code.Unavailable]).toContain(code);
    expect((await admin.sites.listSites({})).sites).toEqual([]);
    expect(service.logLines().filter(({ level }) => Number(level) >= 50)).toEqual([]);
  },
);

test("a record that another call has just ended is not suggested for itself", async () => {
  const rule = { path: "/a", sites: { all: true } };
  await admin.rules.saveRules({ rules: [rule] });
  const ended = await Promise.allSettled(
    [1, 2].map(() => admin.rules.moveRule({ path: "/a", newPath: "/b" })),
  );
  const failures = ended.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  expect(failures).toMatchObject([{ code: Code.NotFound }]);
  expect(String(failures[0])).not.toContain('Did you mean "/a"');
});
