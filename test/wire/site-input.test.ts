import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { freePort } from "../../bench/port.ts";
import { SiteService } from "../../gen/mooring/v1/site_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { startService, TOKEN } from "./service.ts";
import { restTransport } from "./transport/rest.ts";
import { invoke } from "./transport/transport.ts";
import { startFront } from "./upstream.ts";

const { createSite, updateSite, syncSite, getSite, listSites } = SiteService.method;

// Over REST: every other transport has the same outcomes.
describe("invalid input", () => {
  const ask = async ({ port }: { readonly port: number }, method: DescMethod, members = {}) => {
    const outcome = await invoke(restTransport(port), method, members);
    return { code: outcome.kind === "reply" ? 0 : outcome.code, text: JSON.stringify(outcome) };
  };
  const { codeOf } = restTransport(0);
  const REFUSED = codeOf(Code.FailedPrecondition);
  const WRONG = codeOf(Code.InvalidArgument);
  const CONFLICT = codeOf(Code.AlreadyExists);

  // A list of 50 MB is slow.
  const service = startedForAll(() => startService({ siteTimes: { call: 60_000 } }));
  const other = startedForAll(startService);
  const front = startedForAll(startFront);
  const site = startedForAll(startStandIn);
  const pages = startedForAll(async () =>
    createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
    }).listen(0, "127.0.0.1"),
  );

  const at = (port: number): string => `http://127.0.0.1:${port}`;
  const create = (input: object, ports: Parameters<typeof ask>[0] = service) =>
    ask(ports, createSite, { site: { name: "one", url: site.url, token: site.token(), ...input } });
  const names = async (ports: Parameters<typeof ask>[0] = service) =>
    (await ask(ports, listSites)).text;

  test.each([
    ["Mooring itself", () => service.port],
    ["another Mooring", () => other.port],
    ["a Mooring in front of a server", () => front.service.port],
  ])("%s is refused as a site", async (_, port) => {
    const outcome = await create({ url: at(port()), token: TOKEN });
    expect(outcome.code).toBe(REFUSED);
    expect(outcome.text).toContain("is a Mooring server");
    expect(await names()).not.toContain("one");
  });

  test("the upstream is refused as a second site", async () => {
    const { url } = front.site;
    const input = { name: "two", url, token: front.site.token() };
    expect((await create(input, front.service)).code).toBe(CONFLICT);
    expect(await names(front.service)).not.toContain("two");
  });

  test("an address that answers with pages is refused", async () => {
    const outcome = await create({ url: at((pages.address() as AddressInfo).port) });
    expect(outcome.code).toBe(REFUSED);
    expect(outcome.text).toContain("answered with a web page: check the path");
  });

  test.each([
    ["a wrong token", () => "wrong", "refused the token: token is invalidated"],
    ["none", () => "", "token is missing"],
    ["a token of a user who is not an admin", login, "answered 403: You are not an admin"],
  ])("%s", async (_, token, pattern) => {
    const outcome = await create({ token: await token() });
    expect(outcome.code).toBe(pattern.startsWith("token") ? WRONG : REFUSED);
    expect(outcome.text).toContain(pattern);
    expect(await names()).not.toContain("one");
  });

  async function login(): Promise<string> {
    const reply = await fetch(`${site.url}/api/auth/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: "ann", password: "ann-password" }),
    });
    return ((await reply.json()) as { data: { token: string } }).data.token;
  }

  test("a list of 50 MB is refused", async () => {
    site.mode = { kind: "huge", bytes: 50_000_000 };
    const outcome = await create({});
    site.mode = undefined;
    expect(outcome.code).toBe(REFUSED);
    expect(outcome.text).toContain("sent more than 8 MiB");
  });

  test("an override for an unknown key and a duplicate address are refused", async () => {
    const values = { no_such_key: "x" };
    const unknown = await create({ overrides: { values } });
    expect(unknown.code).toBe(WRONG);
    expect(unknown.text).toContain("overrides[no_such_key]");
    expect((await create({})).code).toBe(0);
    const later = await ask(service, updateSite, { name: "one", site: { overrides: { values } } });
    expect(later.code).toBe(WRONG);
    const same = { name: "two", url: site.url.replace("127.0.0.1", "localhost") };
    for (const url of [site.url, `${site.url}/`, same.url])
      expect((await create({ ...same, url })).code).toBe(CONFLICT);
    expect((await create({ name: "one" })).code).toBe(CONFLICT);
  });

  test("a value that the site refuses is named, and the others are saved", async () => {
    await as(service.port).settings.saveSettings({
      settings: [
        { key: "search_index", value: "meilisearch" },
        { key: "site_title", value: "Changed" },
      ],
    });
    const outcome = await ask(service, syncSite, { name: "one" });
    expect(outcome.code).toBe(0);
    expect(outcome.text).toMatch(
      /"search_index","outcome":"refused","reason":"[^"]*not support index/,
    );
    expect([site.value("search_index"), site.value("site_title")]).toEqual(["none", "Changed"]);
    expect((await ask(service, getSite, { name: "one" })).text).toContain("not support index");
  });
});

test("two services in front of each other are detected at once", async () => {
  const ports = [await freePort(), await freePort()];
  const [one = 0, two = 0] = ports;
  const start = (port: number, upstreamPort: number) =>
    startService({
      env: {
        MOORING_LISTEN: `127.0.0.1:${port}`,
        MOORING_UPSTREAM: `http://127.0.0.1:${upstreamPort}`,
        MOORING_SHUTDOWN_GRACE: "50ms",
      },
    });
  const services = await Promise.all([start(one, two), start(two, one)]);
  for (const port of ports) expect((await fetch(`http://127.0.0.1:${port}/x`)).status).toBe(508);
  await Promise.all(services.map((service) => service.stop()));
});
