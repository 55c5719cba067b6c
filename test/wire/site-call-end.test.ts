import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { RuleService } from "../../gen/mooring/v1/rule_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { UserService } from "../../gen/mooring/v1/user_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { local } from "./following.ts";
import { startService } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const SCOPES = [
  "sites:manage",
  "settings:write",
  "settings:reveal",
  "mounts:write",
  "mounts:reveal",
  "rules:write",
  "rules:reveal",
  "users:read",
];
const METHODS: readonly (readonly [DescMethodUnary, object])[] = [
  [SiteService.method.checkSite, { name: "home" }],
  [SiteService.method.compareSite, { name: "home" }],
  [SiteService.method.syncSite, { name: "home" }],
  [SiteService.method.adoptSite, { name: "home" }],
  [MountService.method.compareMounts, { site: "home" }],
  [MountService.method.syncMounts, { site: "home" }],
  [MountService.method.adoptMounts, { site: "home" }],
  [RuleService.method.compareRules, { site: "home" }],
  [RuleService.method.syncRules, { site: "home" }],
  [RuleService.method.adoptRules, { site: "home" }],
  [UserService.method.listUsers, { site: "home" }],
];

const service = startedForAll(startService);
const home = startedForAll(startStandIn);
const root = startedForAll(() => as(service.port));

beforeAll(async () => {
  await root.sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
  await root.settings.saveSettings({ settings: [{ key: "site_title", value: "ours" }] });
  await root.mounts.saveMounts({ mounts: [local("films", "/srv")] });
  await root.rules.saveRules({ rules: [{ path: "/films", sites: { all: true } }] });
});

test.each(sharedPortTransports)(
  "a call over $name that waits for a site ends with the token of its caller, and writes nothing",
  async ({ open }) => {
    const transport = open(service);
    onTestFinished(() => transport.close());
    const { revision } = await root.sites.listSites({});
    // Each method over one transport; how a call ends is the same for all methods.
    const some = METHODS.filter(([method]) => transport.carries(method));
    for (const [method, request] of transport.name === "gRPC" ? some : some.slice(0, 1)) {
      const { text, id } = await give(root, SCOPES);
      const { promise: until, resolve: release } = Promise.withResolvers<void>();
      home.mode = { kind: "held", until };
      const calls = home.seen.length;
      const outcome = invoke(transport, method, request, { authorization: text });
      await expect.poll(() => home.seen.length, { message: method.name }).toBeGreaterThan(calls);
      await root.access.revokeToken({ id });
      // The site has not answered yet.
      expect(await outcome, method.name).toMatchObject({
        kind: "failure",
        code: transport.codeOf(Code.Unauthenticated),
      });
      home.mode = undefined;
      release();
      // Runs after the work of the call.
      await root.sites.checkSite({ name: "home" });
      await root.mounts.compareMounts({ site: "home" });
      await root.rules.compareRules({ site: "home" });
      const written = home.seen.slice(calls).filter(({ method: verb }) => verb === "POST");
      expect(written, method.name).toEqual([]);
    }
    expect((await root.sites.listSites({})).revision).toBe(revision);
  },
);
