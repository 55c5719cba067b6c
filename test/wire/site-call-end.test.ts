import type { DescMethodUnary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { MountService } from "../../gen/mooring/v1/mount_service_pb.js";
import { RuleService } from "../../gen/mooring/v1/rule_service_pb.js";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { UserService } from "../../gen/mooring/v1/user_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { transports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { invoke } from "./transport/transport.ts";

const SCOPES = ["sites:manage", "settings:write", "settings:reveal", "mounts:write"];
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

describe.each(transports)("over $name", ({ open, env = {} }) => {
  const service = startedForAll(() => startService({ env }));
  const transport = startedForAll(() => open(service));
  const home = startedForAll(startStandIn);

  test("a call that waits for a site ends with the token of its caller, and writes nothing", async () => {
    const root = as(service.grpcPort);
    await root.sites.createSite({ site: { name: "home", url: home.url, token: home.token() } });
    await root.settings.saveSettings({ settings: [{ key: "site_title", value: "ours" }] });
    const items = { root_folder_path: "/srv" };
    await root.mounts.saveMounts({
      mounts: [
        {
          name: "films",
          mountPath: "/films",
          driver: "Local",
          config: items,
          sites: { all: true },
        },
      ],
    });
    await root.rules.saveRules({ rules: [{ path: "/films", sites: { all: true } }] });
    const scopes = [...SCOPES, "mounts:reveal", "rules:write", "rules:reveal", "users:read"];
    const { revision } = await root.sites.listSites({});
    // Each method over one transport; how a call ends is the same for all methods.
    const some = METHODS.filter(([method]) => transport.carries(method));
    for (const [method, request] of transport.name === "gRPC" ? some : some.slice(0, 1)) {
      const { text, id } = await give(root, scopes);
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
    root.close();
  });
});
