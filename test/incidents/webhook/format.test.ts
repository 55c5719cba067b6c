import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook as Verifier } from "standardwebhooks";
import { beforeAll, describe, expect, test } from "vitest";
import type { StoredDelivery } from "../../../src/incidents/store.ts";
import { sendTo } from "../../../src/incidents/webhook/deliver.ts";
import { joinEvents } from "../../../src/incidents/webhook/digest.ts";
import {
  newWebhook,
  type Webhook,
  withWebhookInput,
} from "../../../src/incidents/webhook/input.ts";
import { type Send, sendOnce } from "../../../src/incidents/webhook/send.ts";
import { siteNames } from "../../sites/names.ts";
import { startedForAll } from "../../started.ts";
import { failureOf } from "../../thrown.ts";

interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

const BOT = "123456789:AAE-abcdefghijklmnopqrstuvwxyz012345";
const received: Received[] = [];
let reply = { status: 200, body: "" };
let origin = "";
const server = startedForAll(() =>
  createServer(async (request, response) => {
    let body = "";
    for await (const part of request.setEncoding("utf8")) body += String(part);
    const { method, url: path } = request;
    received.push({ method, path, headers: request.headers as Received["headers"], body });
    response.writeHead(reply.status).end(reply.body);
  }),
);

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

const send: Send = (request, options) => sendOnce(request, { ...options, allowPrivate: true });
const now = () => 1_800_000_000_000;

function webhook(changes: Partial<Webhook>): Webhook {
  const { name, siteIds, id, createdAt, createdBy, ...rest } = {
    ...newWebhook("w", 1, "admin"),
    ...changes,
  };
  return withWebhookInput(newWebhook("w", 1, "admin"), { ...rest, name: "w" }, siteNames());
}

const eventOf = (title: string, text: string, type = "incident.opened") =>
  JSON.stringify({
    type,
    timestamp: "2026-11-26T12:00:00.000Z",
    data: { title, text, site: "home", mount_path: "/films", class: "network", message: text },
  });

/** Sends one event and returns what the service received. */
async function sent(changes: Partial<Webhook>, body: string): Promise<Received> {
  reply = { status: 200, body: "" };
  const result = await sendTo(webhook(changes), { id: "msg_1", body }, { send, now });
  expect(result).toEqual({ status: 200, error: "" });
  return received.at(-1) as Received;
}

const json = ({ body }: Received) => JSON.parse(body) as Record<string, unknown>;

/** Webhook of each service, at the test's server. */
const SERVICES: Readonly<Record<string, () => Partial<Webhook>>> = {
  ntfy: () => ({ format: "ntfy", url: `${origin}/mooring-1`, token: "tk_secret" }),
  telegram: () => ({ format: "telegram", url: origin, token: BOT, chat: "-1001234567890" }),
  discord: () => ({ format: "discord", url: `${origin}/api/webhooks/1/secret-key` }),
  slack: () => ({ format: "slack", url: `${origin}/services/T0/B0/secret-key` }),
  bark: () => ({ format: "bark", url: origin, token: "ynJ5Ft4atkMkWeo2PAvFhF" }),
};

describe("the body", () => {
  test("of ntfy is a message to its topic, with the access token in a header", async () => {
    const request = await sent(SERVICES["ntfy"]?.() ?? {}, eventOf("down", "refused\nDo it"));
    expect(request).toMatchObject({
      method: "POST",
      path: "/",
      headers: { authorization: "Bearer tk_secret", "content-type": "application/json" },
    });
    expect(json(request)).toEqual({
      topic: "mooring-1",
      title: "down",
      message: "refused\nDo it",
      priority: 4,
      tags: ["warning"],
    });
  });

  test("of Telegram is plain text whose title is bold", async () => {
    const request = await sent(SERVICES["telegram"]?.() ?? {}, eventOf("down 电影", "<b>_x_</b>"));
    expect(request.path).toBe(`/bot${BOT}/sendMessage`);
    expect(json(request)).toEqual({
      chat_id: "-1001234567890",
      text: "down 电影\n<b>_x_</b>",
      entities: [{ type: "bold", offset: 0, length: 7 }],
      link_preview_options: { is_disabled: true },
    });
  });

  test("of Discord is an embed without markup and mentions", async () => {
    const request = await sent(
      SERVICES["discord"]?.() ?? {},
      eventOf("@everyone", "[click](http://evil.example) a_b"),
    );
    expect(request.path).toBe("/api/webhooks/1/secret-key");
    expect(json(request)).toEqual({
      embeds: [
        {
          title: "@everyone",
          description: "\\[click\\]\\(http://evil.example\\) a\\_b",
          color: 0xd9_3a_2b,
        },
      ],
      allowed_mentions: { parse: [] },
    });
  });

  test("of Slack has no links and mentions", async () => {
    const request = await sent(SERVICES["slack"]?.() ?? {}, eventOf("a & b", "<!channel> x"));
    expect(json(request)).toEqual({ text: "*a &amp; b*\n&lt;!channel&gt; x" });
  });

  test("of Bark has the key of the device", async () => {
    const request = await sent(
      SERVICES["bark"]?.() ?? {},
      eventOf("Resolved: down", "fine", "incident.closed"),
    );
    expect(request.path).toBe("/push");
    expect(json(request)).toEqual({
      device_key: "ynJ5Ft4atkMkWeo2PAvFhF",
      title: "Resolved: down",
      body: "fine",
      group: "Mooring",
      level: "active",
    });
  });

  test("of a standard webhook is the event, signed", async () => {
    const hook = webhook({ url: `${origin}/hook` });
    reply = { status: 204, body: "" };
    const body = eventOf("down", "refused");
    await sendTo(hook, { id: "msg_1", body }, { send, now: Date.now });
    const request = received.at(-1) as Received;
    expect(request.body).toBe(body);
    const headers = request.headers as Record<string, string>;
    expect(new Verifier(hook.secret).verify(request.body, headers)).toEqual(JSON.parse(body));
  });
});

describe("a long text", () => {
  const long = eventOf("题".repeat(5_000), `${"<&_*>".repeat(4_000)}👩‍👩‍👧‍👦`.repeat(2));

  test.each<[string, (body: Record<string, unknown>) => readonly [number, number][]]>([
    [
      "ntfy",
      ({ title, message }) => [
        [Buffer.byteLength(String(title)), 250],
        [Buffer.byteLength(String(message)), 4_096],
      ],
    ],
    ["telegram", ({ text }) => [[String(text).length, 4_096]]],
    [
      "discord",
      ({ embeds }) => {
        const [{ title, description }] = embeds as [{ title: string; description: string }];
        return [
          [title.length, 256],
          [description.length, 4_096],
          [title.length + description.length, 6_000],
        ];
      },
    ],
    ["slack", ({ text }) => [[String(text).length, 4_000]]],
    ["bark", (body) => [[Buffer.byteLength(JSON.stringify(body)), 4_096]]],
  ])("is cut to the limits of %s", async (name, lengths) => {
    const request = await sent(SERVICES[name]?.() ?? {}, long);
    expect(request.body.isWellFormed()).toBe(true);
    for (const [length, most] of lengths(json(request))) {
      expect(length).toBeLessThanOrEqual(most);
      expect(length).toBeGreaterThan(0);
    }
  });
});

describe("a refusal", () => {
  test.each([
    ["telegram", 400, '{"ok":false,"description":"Bad Request: chat not found"}', "chat not found"],
    ["bark", 400, '{"code":400,"message":"failed to get device token"}', "device token"],
    ["discord", 404, '{"message":"Unknown Webhook","code":10015}', "Unknown Webhook"],
    ["ntfy", 403, '{"code":40301,"http":403,"error":"forbidden"}', "forbidden"],
    ["slack", 404, "no_service", "HTTP 404"],
    ["telegram", 500, "<html>", "HTTP 500"],
    ["telegram", 500, "null", "HTTP 500"],
    ["telegram", 500, `{"description":"${"x".repeat(5_000)}"}`, "HTTP 500"],
  ])("of %s is shown with its reason (%i %s)", async (name, status, body, expected) => {
    reply = { status, body };
    const hook = webhook(SERVICES[name]?.() ?? {});
    const result = await sendTo(hook, { id: "m", body: eventOf("a", "b") }, { send, now });
    expect(result.status).toBe(status);
    expect(String(result.error)).toContain(expected);
  });

  test.each(Object.keys(SERVICES))("of %s does not show its secrets", async (name) => {
    const hook = webhook(SERVICES[name]?.() ?? {});
    const echo = `no ${hook.token} at ${hook.url} ${hook.token}`;
    const members = { description: echo, message: echo, error: echo };
    reply = { status: 401, body: JSON.stringify(members) };
    const { error } = await sendTo(hook, { id: "m", body: eventOf("a", "b") }, { send, now });
    if (hook.token !== "") expect(String(error)).not.toContain(hook.token);
    expect(String(error)).not.toContain("secret-key");
  });
});

describe("a template", () => {
  const template = (changes: Partial<Webhook>): Partial<Webhook> => ({
    format: "template",
    url: `${origin}/own`,
    template: '{"msg":"{{title}}: {{text}}"}',
    ...changes,
  });

  test.each([
    ["application/json", '{"a":"{{text}}"}', '{"a":"say \\"hi\\"\\n<b>&"}'],
    ["text/plain; charset=utf-8", "{{text}}", 'say "hi"\n<b>&'],
    ["application/x-www-form-urlencoded", "a={{text}}", "a=say%20%22hi%22%0A%3Cb%3E%26"],
    ["text/html", "<p>{{title}}</p>", "<p>T</p>"],
  ])("is escaped for %s", async (contentType, text, expected) => {
    const request = await sent(
      template({ contentType, template: text }),
      eventOf("T", 'say "hi"\n<b>&'),
    );
    expect(request.headers["content-type"]).toBe(contentType);
    expect(request.body).toBe(expected);
  });

  test("is sent with its method and headers, and signed", async () => {
    const hook = template({ method: "PUT", headers: { "X-Key": "secret-1" } });
    const request = await sent(hook, eventOf("T", "x"));
    expect(request).toMatchObject({ method: "PUT", headers: { "x-key": "secret-1" } });
    expect(request.headers["webhook-signature"]).toMatch(/^v1,/);
  });

  test("lists the incidents of a digest", async () => {
    const one = eventOf("a", "x");
    const { body } = joinEvents(one, one, (text) => text);
    const list = template({
      contentType: "text/plain",
      template: "{{count}}:{{#incidents}}{{mount_path}};{{/incidents}}",
    });
    expect((await sent(list, body)).body).toBe("2:/films;/films;");
  });

  const nested = (levels: number) =>
    `${"{{#incidents}}".repeat(levels)}x${"{{/incidents}}".repeat(levels)}`;

  test.each<[string, Partial<Webhook>]>([
    ["template", { template: "" }],
    ["template", { template: "{{#a}}" }],
    ["template", { template: nested(4) }],
    ["template", { template: "x".repeat(4_001) }],
    ["template.method", { method: "TRACE" }],
    ["template.method", { method: "post" }],
    ["template.content_type", { contentType: "json\r\nx: y" }],
    ["headers", { headers: { "Content-Length": "5" } }],
    ["headers", { headers: { Host: "other" } }],
    ["headers", { headers: { "webhook-id": "x" } }],
    ["headers", { headers: { "x\r\ny": "z" } }],
    ["headers", { headers: { x: "a\r\nb: c" } }],
    ["headers", { headers: { x: "ü" } }],
  ])("with a wrong %s is refused (%o)", async (field, changes) => {
    const failure = await failureOf(() => webhook(template(changes)));
    expect(String(failure)).toContain(field);
  });

  test("cannot make a long text out of nested lists", async () => {
    const one = eventOf("a", "x");
    let body = one;
    for (let count = 1; count < 40; count += 1) body = joinEvents(body, one, (text) => text).body;
    const request = await sent(template({ contentType: "text/plain", template: nested(3) }), body);
    expect(request.body.length).toBeLessThanOrEqual(20 ** 3);
  });
});

describe("options", () => {
  test.each<[string, Partial<Webhook>]>([
    ["url", { format: "ntfy", url: "https://ntfy.sh/" }],
    ["token", { format: "telegram", url: "https://api.telegram.org", chat: "1" }],
    ["chat", { format: "telegram", url: "https://api.telegram.org", token: BOT }],
    ["token", { format: "bark", url: "https://api.day.app" }],
    ["url", { format: "discord", url: "https://discord.com/channels/1/2" }],
    ["url", { format: "slack", url: "" }],
    ["format", { format: "pager" as "slack", url: "https://a.example/" }],
  ])("without a valid %s are refused (%o)", async (field, changes) => {
    expect(String(await failureOf(() => webhook(changes)))).toContain(field);
  });

  test("have the address of the service by default", () => {
    const { url } = webhook({ format: "telegram", token: BOT, chat: "@channel" });
    expect(url).toBe("https://api.telegram.org");
  });

  test.each(["token", "headers", "secret"])(
    "with a %s are given again for another address, which would receive it",
    async (member) => {
      const before = {
        ...webhook({
          ...(member === "token"
            ? { format: "ntfy", url: "https://ntfy.sh/a", token: "tk_secret" }
            : { format: "template", url: "https://a.example/", template: "x" }),
        }),
        ...(member === "headers" && { headers: { "x-key": "secret" } }),
      } as Webhook;
      const url = "https://evil.example/a";
      const input = { url, ...(member !== "secret" && { secret: before.secret }) };
      const failure = await failureOf(() => withWebhookInput(before, input, siteNames()));
      expect(String(failure)).toContain(member);
    },
  );
});

describe("a digest", () => {
  test("lists twenty incidents and counts all", () => {
    let joined: Pick<StoredDelivery, "body" | "type"> = {
      type: "incident.opened",
      body: eventOf("t", "refused"),
    };
    for (let count = 1; count < 500; count += 1)
      joined = joinEvents(joined.body, eventOf("t", "refused"), (text) => text);
    const { type, data } = JSON.parse(joined.body) as {
      type: string;
      data: { count: number; incidents: unknown[]; text: string; title: string };
    };
    expect(type).toBe("incidents.opened");
    expect(joined.type).toBe(type);
    expect(data).toMatchObject({ count: 500, title: "home: 500 incidents (network)" });
    expect(data.incidents).toHaveLength(20);
    expect(data.text.split("\n")).toHaveLength(21);
    expect(data.text).toMatch(/^\/films: refused\n.*… \(\+480\)$/s);
  });
});
