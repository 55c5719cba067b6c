import { create, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, type TestService, TOKEN } from "./service.ts";
import { WireFailure } from "./transport/transport.ts";

const { watchSites } = SiteService.method;

let service: TestService;
let site: StandIn;

beforeAll(async () => {
  [service, site] = await Promise.all([startService(), startStandIn()]);
});

afterAll(async () => {
  await service.stop();
  await site.stop();
});

async function send(path: string, body: object): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/site/${path}`, {
    method: "POST",
    headers: { authorization: TOKEN, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  expect(((await reply.json()) as { code: number }).code).toBe(200);
}

// REST sends the same events in its own form, which has its own tests.
const rpcTransports = sharedPortTransports.filter(({ name }) => !/REST|GET/.test(name));

describe.each(rpcTransports)("WatchSites over $name", ({ open }) => {
  test("sends all sites first, then changes, and the names of deleted ones", async () => {
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
    const statusOf = ({ sites }: JsonObject) =>
      (sites as { status: { known_settings: number; applied_revision: string } }[])[0]?.status;
    expect((await until(() => true))["sites"]).toEqual([]);
    await send("create", { name: "one", url: site.url, token: site.token() });
    const made = await until((event) => (statusOf(event)?.known_settings ?? 0) > 0);
    expect(made["sites"]).toMatchObject([{ name: "one", mode: "SITE_MODE_OBSERVE" }]);
    expect(JSON.stringify(made)).not.toContain(site.token());
    await send("adopt", { name: "one" });
    await until((event) => Number(statusOf(event)?.applied_revision) > 0);
    await send("delete?name=one", {});
    const deleted = await until(({ removed }) => (removed as string[]).length > 0);
    expect(deleted).toMatchObject({ removed: ["one"], sites: [] });
    ending.abort();
    transport.close();
  });

  test("a watch needs a token", async () => {
    const transport = open(service);
    const watching = transport.watch(watchSites, create(watchSites.input), {});
    const first = watching[Symbol.asyncIterator]().next();
    const error = await first.then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(WireFailure);
    expect((error as WireFailure).failure.code).toBe(transport.codeOf(Code.Unauthenticated));
    transport.close();
  });
});
