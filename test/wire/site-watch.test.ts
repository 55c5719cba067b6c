import { create, type JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";

const { watchSites } = SiteService.method;

const service = startedForAll(startService);
const site = startedForAll(startStandIn);

// REST sends the same events in its own form, which has its own tests.
const rpcTransports = sharedPortTransports.filter(({ name }) => !/REST|GET/.test(name));

describe.each(rpcTransports)("WatchSites over $name", ({ open }) => {
  test("sends all sites first, then changes, and the names of deleted ones", async () => {
    const { sites } = as(service.port);
    const transport = open(service);
    const ending = new AbortController();
    const options = { headers: { authorization: TOKEN }, signal: ending.signal };
    const events = transport
      .watch(watchSites, create(watchSites.input), options)
      [Symbol.asyncIterator]();
    /** Events until one matches: a site may change several times before. */
    const until = async (fits: (event: JsonObject) => boolean): Promise<JsonObject> => {
      for (;;) {
        const { value, done } = await events.next();
        if (done === true) throw new Error("the stream has ended");
        if (fits(value)) return value;
      }
    };
    const statusOf = ({ sites: all }: JsonObject) =>
      (all as { status: { known_settings: number; applied_revision: string } }[])[0]?.status;
    expect((await until(() => true))["sites"]).toEqual([]);
    await sites.createSite({ site: { name: "one", url: site.url, token: site.token() } });
    const made = await until((event) => (statusOf(event)?.known_settings ?? 0) > 0);
    expect(made["sites"]).toMatchObject([{ name: "one", mode: "SITE_MODE_OBSERVE" }]);
    expect(JSON.stringify(made)).not.toContain(site.token());
    await sites.adoptSite({ name: "one" });
    await until((event) => Number(statusOf(event)?.applied_revision) > 0);
    await sites.updateSite({ name: "one", site: { name: "two" } });
    const renamed = await until(({ removed }) => (removed as string[]).length > 0);
    expect(renamed).toMatchObject({ removed: ["one"], sites: [{ name: "two" }] });
    await sites.deleteSite({ name: "two" });
    const deleted = await until(({ removed }) => (removed as string[]).length > 0);
    expect(deleted).toMatchObject({ removed: ["two"], sites: [] });
    ending.abort();
    transport.close();
  });
});
