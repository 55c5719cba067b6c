import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../downloaders/program.ts";
import { type StandIn, startStandIn } from "../sites/stand-in.ts";
import { startService, type TestService, TOKEN } from "./service.ts";
import { type FrontedSite, startFront } from "./upstream.ts";

/** Result of a call: the envelope's or the rpc's code, the message, and the details. */
interface Outcome {
  readonly code: number | string;
  readonly text: string;
}

type Ask = (port: number, method: keyof typeof METHODS, input: Input) => Promise<Outcome>;

interface Input {
  /** The site; undefined: a new one. */
  readonly of?: string;
  readonly site?: object;
}

/** REST routes and rpcs. */
const METHODS = {
  create: "CreateSite",
  update: "UpdateSite",
  sync: "SyncSite",
  get: "GetSite",
  list: "ListSites",
} as const;

async function send(url: string, method: string, body?: object): Promise<Response> {
  return fetch(url, {
    method,
    headers: { authorization: TOKEN, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

const rest: Ask = async (port, method, { of, site }) => {
  const query = of === undefined ? "" : `?name=${of}`;
  const url = `http://127.0.0.1:${port}/api/admin/site/${method}`;
  const isRead = method === "get" || method === "list";
  const reply =
    method === "sync"
      ? await send(url, "POST", { name: of })
      : await send(url + query, isRead ? "GET" : "POST", isRead ? undefined : (site ?? {}));
  const text = await reply.text();
  return { code: (JSON.parse(text) as { code: number }).code, text };
};

const connect: Ask = async (port, method, { of, site }) => {
  const url = `http://127.0.0.1:${port}/mooring.v1.SiteService/${METHODS[method]}`;
  const reply = await send(url, "POST", {
    ...(of === undefined ? {} : { name: of }),
    ...(site === undefined ? {} : { site }),
  });
  const text = await reply.text();
  return { code: reply.ok ? "ok" : (JSON.parse(text) as { code: string }).code, text };
};

const OK = { rest: 200, connect: "ok" };
const REFUSED = { rest: 400, connect: "failed_precondition" };
const WRONG = { rest: 400, connect: "invalid_argument" };
const CONFLICT = { rest: 409, connect: "already_exists" };

describe.each([
  ["rest", rest],
  ["connect", connect],
] as const)("invalid input over %s", (transport, ask) => {
  let service: TestService;
  let other: TestService;
  let front: FrontedSite;
  let site: StandIn;
  let pages: ReturnType<typeof createServer>;

  beforeAll(async () => {
    [service, other, front, site] = await Promise.all([
      // A list of 50 MB is slow.
      startService({ siteTimes: { call: 60_000 } }),
      startService(),
      startFront(),
      startStandIn(),
    ]);
    pages = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html>");
    });
    await new Promise<void>((resolve) => void pages.listen(0, "127.0.0.1", resolve));
  });

  afterAll(async () => {
    pages.close();
    await Promise.all([service.stop(), other.stop(), front.stop()]);
    await site.stop();
  });

  const at = (port: number): string => `http://127.0.0.1:${port}`;
  const create = (input: object, port = service.port) =>
    ask(port, "create", { site: { name: "one", url: site.url, token: site.token(), ...input } });
  const names = async (port = service.port) => (await ask(port, "list", {})).text;

  test.each([
    ["Mooring itself", () => service.port],
    ["another Mooring", () => other.port],
    ["a Mooring in front of a server", () => front.service.port],
  ])("%s is refused as a site", async (_, port) => {
    const outcome = await create({ url: at(port()), token: TOKEN });
    expect(outcome.code).toBe(REFUSED[transport]);
    expect(outcome.text).toContain("is a Mooring server");
    expect(await names()).not.toContain("one");
  });

  test("the upstream is refused as a second site", async () => {
    const { url } = front.site;
    const input = { name: "two", url, token: front.site.token() };
    expect((await create(input, front.service.port)).code).toBe(CONFLICT[transport]);
    expect(await names(front.service.port)).not.toContain("two");
  });

  test("an address that answers with pages is refused", async () => {
    const outcome = await create({ url: at((pages.address() as AddressInfo).port) });
    expect(outcome.code).toBe(REFUSED[transport]);
    expect(outcome.text).toContain("answered with a web page: check the path");
  });

  test.each([
    ["a wrong token", () => "wrong", "refused the token: token is invalidated"],
    ["none", () => "", "token is missing"],
    ["a token of a user who is not an admin", login, "answered 403: You are not an admin"],
  ])("%s", async (_, token, pattern) => {
    const outcome = await create({ token: await token() });
    expect(outcome.code).toBe((pattern.startsWith("token") ? WRONG : REFUSED)[transport]);
    expect(outcome.text).toContain(pattern);
    expect(await names()).not.toContain("one");
  });

  async function login(): Promise<string> {
    const reply = await send(`${site.url}/api/auth/login`, "POST", {
      username: "ann",
      password: "ann-password",
    });
    return ((await reply.json()) as { data: { token: string } }).data.token;
  }

  test("a list of 50 MB is refused", async () => {
    site.mode = { kind: "huge", bytes: 50_000_000 };
    const outcome = await create({});
    site.mode = undefined;
    expect(outcome.code).toBe(REFUSED[transport]);
    expect(outcome.text).toContain("sent more than 8 MiB");
  });

  test("an override for an unknown key and a duplicate address are refused", async () => {
    const values = { no_such_key: "x" };
    const unknown = await create({ overrides: { values } });
    expect(unknown.code).toBe(WRONG[transport]);
    expect(unknown.text).toContain("overrides[no_such_key]");
    expect((await create({})).code).toBe(OK[transport]);
    const later = await ask(service.port, "update", { of: "one", site: { overrides: { values } } });
    expect(later.code).toBe(WRONG[transport]);
    const same = { name: "two", url: site.url.replace("127.0.0.1", "localhost") };
    for (const url of [site.url, `${site.url}/`, same.url])
      expect((await create({ ...same, url })).code).toBe(CONFLICT[transport]);
    expect((await create({ name: "one" })).code).toBe(CONFLICT[transport]);
  });

  test("a value that the site refuses is named, and the others are saved", async () => {
    await send(`${at(service.port)}/api/admin/setting/save`, "POST", [
      { key: "search_index", value: "meilisearch" },
      { key: "site_title", value: `over ${transport}` },
    ] as never);
    const outcome = await ask(service.port, "sync", { of: "one" });
    expect(outcome.code).toBe(OK[transport]);
    expect(outcome.text).toMatch(
      /"search_index","outcome":"refused","reason":"[^"]*not support index/,
    );
    expect([site.value("search_index"), site.value("site_title")]).toEqual([
      "none",
      `over ${transport}`,
    ]);
    expect((await ask(service.port, "get", { of: "one" })).text).toContain("not support index");
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
