import { createClient, type Transport } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { describe, expect, test } from "vitest";
import { PublicService } from "../../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { startedMooring, TOKEN } from "../../process/mooring.ts";
import { serverOfFile } from "../../store/postgres/server.ts";

const HEADER = "mooring-stale-seconds";
const LONG = { timeout: 90_000 };
const SOON = { timeout: 20_000, interval: 50 };
const server = serverOfFile();

/** The header of a reply to a Connect client. */
type Reads = (transport: Transport) => Promise<string | null>;

const unary: Reads = async (transport) => {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  await createClient(PublicService, transport).getPublicSettings(
    {},
    { onHeader: (header) => resolve(header.get(HEADER)) },
  );
  return promise;
};
const stream: Reads = async (transport) => {
  let found: string | null = null;
  const events = createClient(PublicService, transport).watchPublicSettings(
    {},
    {
      onHeader: (header) => {
        found = header.get(HEADER);
      },
    },
  );
  for await (const _ of events) break;
  return found;
};
const fetched = async (url: string, headers: Record<string, string> = {}) => {
  const reply = await fetch(url, { headers });
  await reply.body?.cancel();
  return {
    status: reply.status,
    stale: reply.headers.get(HEADER),
    etag: reply.headers.get("etag"),
  };
};

describe("the age of a reply while the database is unreachable", () => {
  test("is in replies of every protocol, and in none before and after", LONG, async () => {
    const url = await server().newDatabase();
    const mooring = await startedMooring({
      env: {
        MOORING_ADMIN_TOKEN: TOKEN,
        MOORING_DATABASE_URL: url,
        MOORING_METRICS_LISTEN: "127.0.0.1:0",
      },
    });
    const baseUrl = `http://127.0.0.1:${mooring.port()}`;
    const transports = {
      connect: createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      "connect by GET": createConnectTransport({ baseUrl, httpVersion: "2", useHttpGet: true }),
      "gRPC-Web": createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
      gRPC: createGrpcTransport({ baseUrl }),
    };
    const settings = `${baseUrl}/api/public/settings`;
    const { etag } = await fetched(settings);
    const ages = async (): Promise<Record<string, string | null>> => ({
      REST: (await fetched(settings)).stale,
      "REST, unchanged": (await fetched(settings, { "if-none-match": etag ?? "" })).stale,
      "REST, with a token": (
        await fetched(`${baseUrl}/api/admin/setting/list`, { authorization: TOKEN })
      ).stale,
      events: (await fetched(`${settings}/watch`)).stale,
      ...Object.fromEntries(
        await Promise.all(
          Object.entries(transports).flatMap(([name, transport]) => [
            unary(transport).then((found) => [name, found] as const),
            stream(transport).then((found) => [`${name}, stream`, found] as const),
          ]),
        ),
      ),
    });
    const notStale = async () => [...new Set(Object.values(await ages()))];
    const { metrics } = mooring.log().find(({ msg }) => msg === "serving") as { metrics: string };
    const measured = async (name: string): Promise<number> => {
      const text = await (await fetch(`http://${metrics}/metrics`)).text();
      return Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
    };
    const last = "mooring_database_last_contact_timestamp_seconds";

    await expect.poll(notStale, SOON).toEqual([null]);
    expect(await measured("mooring_database_up")).toBe(1);

    await server().kill("SIGKILL");
    await mooring.logged(({ msg }) => String(msg).includes("reads continue from memory"));
    for (const [name, seconds] of Object.entries(await ages())) {
      expect(seconds, name).toMatch(/^\d+$/);
      expect(Number(seconds), name).toBeGreaterThan(0);
    }
    const before = Number((await fetched(settings)).stale);
    await expect
      .poll(async () => Number((await fetched(settings)).stale), SOON)
      .toBeGreaterThan(before);
    expect(await measured("mooring_database_up")).toBe(0);
    const contact = await measured(last);
    await expect
      .poll(async () => Date.now() / 1_000 - (await measured(last)), SOON)
      .toBeGreaterThan(2);
    expect(await measured(last)).toBeCloseTo(contact, 0);
    // Replies that are not served from memory have no age.
    const save = await createClient(SettingService, transports.connect)
      .saveSettings(
        { settings: [{ key: "site_title", value: "x" }] },
        { headers: { authorization: TOKEN } },
      )
      .catch((error: unknown) => error);
    expect(save).toMatchObject({ code: 14, metadata: expect.anything() });
    expect((save as { metadata: Headers }).metadata.get(HEADER)).toBeNull();

    await server().start();
    await mooring.logged(({ msg }) => String(msg).includes("is back"));
    await expect.poll(notStale, SOON).toEqual([null]);
    expect(await measured("mooring_database_up")).toBe(1);
  });
});
