import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "@bufbuild/protobuf";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import {
  IncidentClass,
  IncidentSubject,
  WebhookDeliveryState,
} from "../../gen/mooring/v1/incident_pb.js";
import { IncidentService } from "../../gen/mooring/v1/incident_service_pb.js";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { as, give } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { read } from "./transport/transport.ts";

const SECRET = "a-secret-of-the-provider";
const headers = { authorization: TOKEN };

const site = startedForAll(startStandIn);
const service = startedForAll(() =>
  startService({
    env: { MOORING_WEBHOOK_TARGETS: "any", MOORING_SECRET_KEY: "ab".repeat(32) },
    siteTimes: { tick: 50 },
    mountTimes: { tick: 30, read: 50, watch: 30, digest: 0, pauses: [50, 50] },
  }),
);
const admin = startedForAll(() => as(service.port));
const target = startedForAll(() =>
  createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += String(part);
    received.push({ headers: request.headers as Record<string, string>, body });
    response.writeHead(targetStatus).end();
  }),
);
let targetUrl: string;
let targetStatus = 204;
const received: { headers: Record<string, string>; body: string }[] = [];

beforeAll(async () => {
  await new Promise<void>((resolve) => target.listen(0, "127.0.0.1", resolve));
  targetUrl = `http://127.0.0.1:${(target.address() as AddressInfo).port}/hook/${SECRET}`;
  site.mounts.push(row(1, "/good", "work"), row(2, "/bad", `login failed: ${SECRET}`));
  await admin.sites.createSite({
    site: { name: "one", url: site.url, token: site.token() },
  });
  await vi.waitFor(async () => expect((await open()).length).toBe(1), { timeout: 60_000 });
});

afterAll(() => target.closeAllConnections());

function row(id: number, path: string, status: string) {
  return {
    id,
    mount_path: path,
    driver: "PikPak",
    status,
    disabled: status === "disabled",
    addition: JSON.stringify({ password: SECRET, username: "u" }),
    modified: `${id} ${status}`,
  };
}

function put(path: string, status: string): void {
  const at = site.mounts.findIndex((each) => each["mount_path"] === path);
  site.mounts[at] = row(at + 1, path, status);
}

const open = async () => (await admin.incidents.listIncidents({})).incidents;

describe.each(sharedPortTransports)("incidents over $name", ({ open: openTransport }) => {
  const { listIncidents, getIncident, watchIncidents, listDays } = IncidentService.method;
  const transport = startedForAll(() => openTransport(service));

  test("are listed and read with their remedy, and without secrets", async () => {
    const list = await read(transport, listIncidents);
    expect(list).toMatchObject({
      incidents: [
        { site: "one", mount_path: "/bad", driver: "PikPak", message: "login failed: ********" },
      ],
    });
    const [incident] = list["incidents"] as [JsonObject];
    expect(incident["action"]).toMatch(/^Get a new credential/);
    const names = (incident["items"] as JsonObject[]).map(({ name }) => name);
    expect(names).toContain("password");
    const one = await read(transport, getIncident, { id: incident["id"] });
    expect(one).toMatchObject({ incident: { mount_path: "/bad" } });
    expect(JSON.stringify([list, one])).not.toContain(SECRET);
  });

  test("are behind the last days of sites and mounts, which are read by page", async () => {
    const read30 = async (request: JsonObject = {}) =>
      (await read(transport, listDays, request)) as unknown as {
        strips: { site: string; mount_path: string; days: Record<string, number | string>[] }[];
        next_page_token: string;
      };
    await expect.poll(async () => (await read30()).strips.length, { timeout: 10_000 }).toBe(3);
    await expect
      .poll(async () => (await read30({ failed: true })).strips.map((each) => each.mount_path))
      .toEqual(["/bad"]);
    const { strips } = await read30();
    expect(strips.map((each) => [each.site, each.mount_path])).toEqual([
      ["one", ""],
      ["one", "/bad"],
      ["one", "/good"],
    ]);
    for (const { days } of strips) {
      expect(days).toHaveLength(30);
      const [first = {}, last = {}] = [days[0], days.at(-1)];
      expect(first).toMatchObject({
        worked_seconds: 0,
        failed_seconds: 0,
        unmonitored_seconds: 86_400,
      });
      expect(Date.parse(String(last["date"])) - Date.parse(String(first["date"]))).toBe(
        29 * 86_400_000,
      );
    }
    const { failed_seconds: failed, reason } = strips[1]?.days.at(-1) ?? {};
    expect(failed).toBeGreaterThan(0);
    expect(reason).toBe("login failed: ********");
    const pages = await read30({ pageSize: 2 });
    expect(pages.strips).toHaveLength(2);
    const rest = await read30({ pageSize: 2, pageToken: pages.next_page_token });
    expect(rest.strips.map((each) => each.mount_path)).toEqual(["/good"]);
    expect(rest.next_page_token).toBe("");
    const date = String(strips[0]?.days.at(-1)?.["date"]);
    expect(await read(transport, listIncidents, { date })).toMatchObject({
      incidents: [{ mount_path: "/bad" }],
    });
    expect(await read(transport, listIncidents, { date: "2020-01-01" })).toMatchObject({
      incidents: [],
    });
  });

  test("are sent to watchers", async () => {
    if (!transport.carries(watchIncidents)) return;
    const event = await read(transport, watchIncidents);
    expect(event).toMatchObject({ incidents: [{ mount_path: "/bad" }] });
  });
});

describe("days", () => {
  const { SITE, MOUNT, TOKEN: OWN, BACKUP } = IncidentSubject;
  const pathsOf = async (request: Parameters<typeof admin.incidents.listDays>[0]) =>
    (await admin.incidents.listDays(request)).strips.map(({ mountPath }) => mountPath);

  test.each([
    [{ subject: SITE }, [""]],
    [{ subject: MOUNT }, ["/bad", "/good"]],
    [{ site: "one", mountPath: "/good" }, ["/good"]],
    [{ site: "one", mountPath: "/none" }, []],
    [{ subject: SITE, mountPath: "/good" }, []],
    [{ subject: SITE, failed: true }, []],
  ])("%j shows %j", async (request, paths) => {
    expect(await pathsOf(request)).toEqual(paths);
  });

  test.each([
    [{ subject: OWN }, "only sites and mounts have days"],
    [{ subject: BACKUP }, "only sites and mounts have days"],
    [{ pageSize: -1 }, "page_size must be a number from 1 to 200, not -1"],
    [{ pageToken: "x" }, "invalid page_token"],
    [{ pageToken: Buffer.from('["a"]').toString("base64url") }, "invalid page_token"],
  ])("%j is refused", async (request, reason) => {
    await expect(admin.incidents.listDays(request)).rejects.toThrow(reason);
  });

  test("a site that does not exist is refused", async () => {
    await expect(admin.incidents.listDays({ site: "ona" })).rejects.toThrow('Did you mean "one"');
  });

  test.each(["2026-02-30", "26.11.2026", "today"])("the date %s is refused", async (date) => {
    await expect(admin.incidents.listIncidents({ date })).rejects.toThrow("date must be a day");
  });

  test("incidents are read by their subject", async () => {
    const ofSubject = async (subject: IncidentSubject) =>
      (await admin.incidents.listIncidents({ subject })).incidents.length;
    expect([await ofSubject(MOUNT), await ofSubject(SITE)]).toEqual([1, 0]);
  });
});

test("texts are in the language of the call", async () => {
  const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/incident/list`, {
    headers: { ...headers, "accept-language": "zh-CN" },
  });
  const { data } = (await reply.json()) as { data: { incidents: JsonObject[] } };
  expect(data.incidents[0]?.["action"]).toMatch(/^请向存储服务商获取/);
});

describe("the rights of a token", () => {
  const made = async (...scopes: string[]) => (await give(admin, scopes)).text;

  test("follow its scopes", async () => {
    const reader = await made("incidents:read");
    expect((await as(service.port, reader).incidents.listIncidents({})).incidents).toHaveLength(1);
    expect((await as(service.port, reader).incidents.listDays({})).strips).toHaveLength(3);
    const [incident] = await open();
    const id = incident?.id ?? "";
    await expect(as(service.port, reader).incidents.acknowledgeIncident({ id })).rejects.toThrow(
      "incidents:acknowledge",
    );
    await expect(as(service.port, reader).webhooks.listWebhooks({})).rejects.toThrow(
      "webhooks:manage",
    );
    const other = await made("sites:read");
    await expect(as(service.port, other).incidents.listIncidents({})).rejects.toThrow(
      "incidents:read",
    );
  });
});

describe("an incident", () => {
  test("opens, is acknowledged, is notified and closes by itself", async () => {
    const webhooks = admin.webhooks;
    const { secret, webhook } = await webhooks.createWebhook({
      webhook: { name: "chat", url: targetUrl, classes: { classes: [IncidentClass.QUOTA] } },
    });
    expect(webhook).toMatchObject({ name: "chat", target: new URL(targetUrl).origin });
    const messages = () =>
      received.map(({ headers: sent, body }) => new Webhook(secret).verify(body, sent)) as {
        type: string;
        data: JsonObject;
      }[];
    put("/good", "429 too many requests");
    await expect.poll(() => messages().map(({ type }) => type)).toEqual(["incident.opened"]);
    expect(messages()[0]?.data).toMatchObject({
      site: "one",
      mount_path: "/good",
      class: "quota",
      message: "429 too many requests",
      action: expect.stringMatching(/^Wait/),
    });
    const [incident] = (await open()).filter(({ mountPath }) => mountPath === "/good");
    const id = incident?.id ?? "";
    const incidents = admin.incidents;
    await incidents.acknowledgeIncident({ id, note: "waiting" });
    await expect.poll(() => messages().at(-1)?.type).toBe("incident.acknowledged");
    expect((await incidents.getIncident({ id })).incident).toMatchObject({
      acknowledgedBy: "admin",
      note: "waiting",
    });
    put("/good", "work");
    await expect.poll(() => messages().at(-1)?.type).toBe("incident.closed");
    const { incident: closed } = await incidents.getIncident({ id });
    expect(closed?.closeTime).toBeDefined();
    expect(closed?.note).toBe("waiting");
    await expect(incidents.acknowledgeIncident({ id })).rejects.toThrow("is closed");
    const { events } = await admin.audit.listAuditEvents({
      methods: ["AcknowledgeIncident"],
    });
    expect(events[0]?.subjects).toEqual(["one", "/good"]);
    expect((await incidents.listIncidents({ closed: true })).incidents).toHaveLength(2);
    const { deliveries } = await webhooks.listWebhookDeliveries({ name: "chat" });
    expect(deliveries.map(({ type, state }) => [type, state])).toEqual([
      ["incident.closed", WebhookDeliveryState.DELIVERED],
      ["incident.acknowledged", WebhookDeliveryState.DELIVERED],
      ["incident.opened", WebhookDeliveryState.DELIVERED],
    ]);
  });

  test("is notified again until the target accepts it, and can be sent again", async () => {
    const webhooks = admin.webhooks;
    targetStatus = 503;
    put("/good", "quota exceeded");
    const newest = async () =>
      (await webhooks.listWebhookDeliveries({ name: "chat", pageSize: 1 })).deliveries[0];
    await expect.poll(async () => (await newest())?.attempts).toBe(3);
    await expect.poll(async () => (await newest())?.state).toBe(WebhookDeliveryState.FAILED);
    targetStatus = 204;
    const id = (await newest())?.id ?? "";
    const { delivery } = await webhooks.resendWebhookDelivery({ id });
    expect(delivery).toMatchObject({ state: WebhookDeliveryState.DELIVERED, attempts: 4 });
    expect(received.at(-1)?.headers["webhook-id"]).toBe(id);
    const tested = await webhooks.testWebhook({ name: "chat" });
    expect(tested.delivery).toMatchObject({ type: "test", status: 204 });
    put("/good", "work");
    await expect.poll(async () => (await open()).length).toBe(1);
  });

  test("whose target is gone disables its webhook, which is in the audit and the log", async () => {
    await admin.webhooks.createWebhook({ webhook: { name: "gone", url: targetUrl } });
    targetStatus = 410;
    put("/good", "429 too many requests");
    const isDisabled = async () =>
      (await admin.webhooks.listWebhooks({})).webhooks.find(({ name }) => name === "gone")
        ?.disabled;
    await expect.poll(isDisabled).toBe(true);
    const { events } = await admin.audit.listAuditEvents({ subject: "gone", methods: ["deliver"] });
    expect(events).toMatchObject([{ actor: "webhooks", outcome: "OK", subjects: ["gone"] }]);
    expect(service.logLines()).toContainEqual(
      expect.objectContaining({
        webhook: "gone",
        msg: "webhook disabled: its target answered 410 Gone",
      }),
    );
    targetStatus = 204;
    put("/good", "work");
    await expect.poll(async () => (await open()).length).toBe(1);
    await admin.webhooks.deleteWebhook({ name: "gone" });
  });

  test("closes when the mount is disabled or its row is deleted", async () => {
    site.mounts.push(row(3, "/third", "invalid_grant"));
    await expect.poll(async () => (await open()).length).toBe(2);
    put("/third", "disabled");
    await expect.poll(async () => (await open()).length).toBe(1);
    put("/third", "invalid_grant");
    await expect.poll(async () => (await open()).length).toBe(2);
    site.mounts.pop();
    await expect.poll(async () => (await open()).length).toBe(1);
  });

  test("is kept over a restart of the service, and is not announced again", async () => {
    const before = received.length;
    const second = await startService({
      folder: service.folder,
      env: { MOORING_SECRET_KEY: "ab".repeat(32), MOORING_WEBHOOK_TARGETS: "any" },
      mountTimes: { tick: 30, read: 30, digest: 0 },
    });
    const { incidents } = await as(second.port).incidents.listIncidents({});
    expect(incidents.map(({ mountPath }) => mountPath)).toEqual(["/bad"]);
    await second.stop();
    expect(received.length).toBe(before);
  });
});

describe("webhooks", () => {
  test.each([
    [{ name: "chat", url: "https://example.com" }, 'the webhook "chat" exists already'],
    [{ name: "a b", url: "https://example.com" }, "name must have"],
    [{ name: "x", url: "ftp://example.com" }, "url must be"],
    [{ name: "x", url: "https://u:p@example.com" }, "no password"],
    [{ name: "x" }, "url must be"],
    [{ name: "x", url: "https://example.com", secret: "short" }, "secret must be whsec_"],
    [{ name: "x", url: "https://example.com", language: "fr" }, "language must be one of"],
    [
      { name: "x", url: "https://example.com", sites: { names: ["a b"] } },
      'sites: there is no site "a b"',
    ],
    [{ name: "x", url: "https://example.com", classes: { classes: [77] } }, "classes must be"],
  ])("are refused: %j", async (webhook, message) => {
    await expect(admin.webhooks.createWebhook({ webhook })).rejects.toThrow(message);
  });

  test("follow a site to its new name", async () => {
    const { webhooks, sites } = admin;
    await webhooks.createWebhook({
      webhook: { name: "of-one", url: targetUrl, sites: { names: ["one"] } },
    });
    const shown = async () =>
      (await webhooks.listWebhooks({})).webhooks.find(({ name }) => name === "of-one")?.sites;
    await sites.updateSite({ name: "one", site: { name: "first" } });
    expect(await shown()).toEqual(["first"]);
    await sites.updateSite({ name: "first", site: { name: "one" } });
    expect(await shown()).toEqual(["one"]);
    await webhooks.deleteWebhook({ name: "of-one" });
  });

  test("do not return their secrets", async () => {
    const webhooks = admin.webhooks;
    const { secret } = await webhooks.createWebhook({
      webhook: { name: "second", url: targetUrl, sites: { names: ["one"] } },
    });
    const shown = JSON.stringify(
      [
        await webhooks.listWebhooks({}),
        await webhooks.updateWebhook({ name: "second", webhook: { language: "zh-CN" } }),
      ],
      (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value),
    );
    const audit = await fetch(`http://127.0.0.1:${service.port}/api/admin/audit/events`, {
      headers,
    });
    for (const text of [shown, await audit.text(), service.log()]) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(SECRET);
    }
    expect(await audit.headers.get("content-type")).toContain("application/json");
    await webhooks.deleteWebhook({ name: "second" });
    await expect(webhooks.testWebhook({ name: "second" })).rejects.toThrow("no webhook");
  });
});

test("incidents of a removed site say so, and show no internal id", async () => {
  await admin.sites.deleteSite({ name: "one" });
  const closed = async () => (await admin.incidents.listIncidents({ closed: true })).incidents;
  await expect.poll(async () => (await open()).length).toBe(0);
  expect(new Set((await closed()).map((incident) => incident.site))).toEqual(
    new Set(["removed site"]),
  );
  const headers = { "accept-language": "zh-CN" };
  const inChinese = await admin.incidents.listIncidents({ closed: true }, { headers });
  expect(new Set(inChinese.incidents.map(({ site }) => site))).toEqual(new Set(["已移除的站点"]));
  for (const { title } of inChinese.incidents) expect(title).not.toContain("removed");
});
