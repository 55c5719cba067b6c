import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { read } from "./transport/transport.ts";

const { getSite, listSites, watchSites } = SiteService.method;
const headers = { authorization: TOKEN };

/** Failing sites by name, and the expected state of each. */
const STATES = { down: "failing", hanging: "failing", refusing: "stuck" } as const;
/** RFC 3339 with at most nine digits of a second, as JSON has a Timestamp. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

const sites = [1, 2, 3].map(() => startedForAll(startStandIn));
const service = startedForAll(() =>
  startService({ siteTimes: { tick: 50, read: 50, call: 2_000 } }),
);

beforeAll(async () => {
  const [down, hanging, refusing] = sites as [StandIn, StandIn, StandIn];
  for (const [name, { url, token }] of Object.entries({ down, hanging, refusing }))
    await as(service.port).sites.createSite({ site: { name, url, token: token() } });
  await down.stop();
  hanging.mode = { kind: "hang" };
  refusing.put("token", "another-token-of-the-site");
  await vi.waitFor(inTrouble, { timeout: 60_000 });
});

async function inTrouble(): Promise<void> {
  const content = (await as(service.port).sites.listSites({})).sites;
  const status = Object.entries(STATES).map(([name, state]) => ({ name, status: { state } }));
  expect(content).toMatchObject(status);
}

/** State of each site in a reply, after a check of its times. */
function statesOf(found: unknown): Record<string, unknown> {
  const messages = found as { name: string; status: Record<string, string> }[];
  for (const { status } of messages)
    for (const name of ["reach_time", "error_time", "retry_time", "since_time"])
      if (status[name] !== undefined && status[name] !== null) expect(status[name]).toMatch(TIME);
  return Object.fromEntries(messages.map(({ name, status }) => [name, status["state"]]));
}

describe.each(sharedPortTransports)("failing sites over $name", ({ open }) => {
  const transport = startedForAll(() => open(service));

  test("are returned by ListSites and GetSite", async () => {
    expect(statesOf((await read(transport, listSites))["sites"])).toEqual(STATES);
    for (const [name, state] of Object.entries(STATES))
      expect(await read(transport, getSite, { name })).toMatchObject({
        site: { name, status: { state } },
      });
  });

  test("are all sent at once by WatchSites", async () => {
    if (!transport.carries(watchSites)) return;
    expect(statesOf((await read(transport, watchSites))["sites"])).toEqual(STATES);
  });
});

test("ListSites answers over Connect in protobuf, HTTP/1.1", async () => {
  const baseUrl = `http://127.0.0.1:${service.port}`;
  const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true });
  const reply = await createClient(SiteService, transport).listSites({}, { headers });
  expect(reply.sites.map(({ name }) => name)).toEqual(Object.keys(STATES));
});
