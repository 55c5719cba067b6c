import { create, type JsonObject } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const { getSite, listSites, watchSites } = SiteService.method;
const headers = { authorization: TOKEN };

/** Failing sites by name, and the expected state of each. */
const HEALTHS = { down: "failing", hanging: "failing", refusing: "stopped" } as const;
/** RFC 3339 with at most nine digits of a second, as JSON has a Timestamp. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

let service: TestService;
let sites: StandIn[];

beforeAll(async () => {
  sites = await Promise.all([startStandIn(), startStandIn(), startStandIn()]);
  service = await startService({ siteTimes: { beat: 50, look: 50, call: 2_000 } });
  const [down, hanging, refusing] = sites as [StandIn, StandIn, StandIn];
  for (const [name, { url, token }] of Object.entries({ down, hanging, refusing }))
    await send("create", { name, url, token: token() });
  await down.stop();
  hanging.mode = { kind: "hang" };
  refusing.put("token", "another-token-of-the-site");
  await vi.waitFor(inTrouble, { timeout: 60_000 });
});

afterAll(async () => {
  await service.stop();
  await Promise.all(sites.map((site) => site.stop()));
});

async function send(path: string, body?: object): Promise<JsonObject> {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/site/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...headers, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { code, data } = (await reply.json()) as { code: number; data: JsonObject };
  expect(code).toBe(200);
  return data;
}

async function inTrouble(): Promise<void> {
  const content = await send("list");
  const status = Object.entries(HEALTHS).map(([name, health]) => ({ name, status: { health } }));
  expect(content).toMatchObject(status);
}

/** Health of each site in a reply, after a check of its times. */
function healthsOf(found: unknown): Record<string, unknown> {
  const messages = found as { name: string; status: Record<string, string> }[];
  for (const { status } of messages)
    for (const name of ["reach_time", "error_time", "retry_time"])
      if (status[name] !== undefined && status[name] !== null) expect(status[name]).toMatch(TIME);
  return Object.fromEntries(messages.map(({ name, status }) => [name, status["health"]]));
}

describe.each(sharedPortTransports)("failing sites over $name", ({ open }) => {
  test("are returned by ListSites and GetSite", async () => {
    const transport = open(service);
    try {
      const list = await transport.call(listSites, create(listSites.input), { headers });
      expect(list).toMatchObject({ kind: "reply" });
      if (list.kind === "reply") expect(healthsOf(list.message["sites"])).toEqual(HEALTHS);
      for (const [name, health] of Object.entries(HEALTHS)) {
        const request = create(getSite.input, { name });
        const answer = await transport.call(getSite, request, { headers });
        expect(answer).toMatchObject({
          kind: "reply",
          message: { site: { name, status: { health } } },
        });
      }
    } finally {
      transport.close();
    }
  });

  test("are all sent at once by WatchSites", async () => {
    const transport = open(service);
    const ending = new AbortController();
    try {
      if (!transport.carries(watchSites)) return;
      const { signal } = ending;
      const events = transport.watch(watchSites, create(watchSites.input), { headers, signal });
      const { value } = await events[Symbol.asyncIterator]().next();
      expect(healthsOf((value as JsonObject)["sites"])).toEqual(HEALTHS);
    } finally {
      ending.abort();
      transport.close();
    }
  });
});

test("ListSites answers over Connect in protobuf, HTTP/1.1", async () => {
  const baseUrl = `http://127.0.0.1:${service.port}`;
  const transport = createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true });
  const reply = await createClient(SiteService, transport).listSites({}, { headers });
  expect(reply.sites.map(({ name }) => name)).toEqual(Object.keys(HEALTHS));
});
