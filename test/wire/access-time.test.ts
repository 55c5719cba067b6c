import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { run } from "../cli/world.ts";
import { type As, as, drained, give } from "./access-client.ts";
import { startService, type TestService, TOKEN } from "./service.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const START = Date.parse("2027-01-01T00:00:00Z");

// Only this clock: everything else runs normally.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"], now: START });
  onTestFinished(() => void vi.useRealTimers());
});

const at = (time: number): void => void vi.setSystemTime(START + time);

async function started(options: Parameters<typeof startService>[0] = {}): Promise<TestService> {
  const service = await startService(options);
  onTestFinished(service.stop);
  return service;
}

async function streamOf({ settings }: As): Promise<AsyncIterator<unknown>> {
  const stream = settings.watchSettings({})[Symbol.asyncIterator]();
  await stream.next();
  return stream;
}

const refused = { code: Code.Unauthenticated };
const read = ({ settings }: As) => settings.getSetting({ key: "site_title" });

describe("by time", () => {
  test("a token ends at its expiry, with its streams; others continue", async () => {
    const { port } = await started();
    const root = as(port);
    const { secret } = await root.access.createToken({
      principal: "short",
      scopes: ["settings:read"],
      expireTime: timestampFromMs(START + HOUR),
    });
    const own = as(port, secret);
    const other = as(port, (await give(root, ["settings:read"])).text);
    const [ending, lasting] = [await streamOf(own), await streamOf(other)];
    at(HOUR - 1);
    await read(own);
    at(HOUR);
    await expect(read(own)).rejects.toMatchObject(refused);
    await expect(drained(ending)).rejects.toMatchObject(refused);
    await read(other);
    await root.settings.saveSettings({ settings: [{ key: "site_title", value: "still heard" }] });
    expect(await lasting.next()).toMatchObject({
      done: false,
      value: { event: { case: "change" } },
    });
    await lasting.return?.();
  });

  test("a token with a successor ends after the overlap, with its streams; the successor continues", async () => {
    const { port } = await started();
    const root = as(port);
    const { text, id } = await give(root, ["settings:read"]);
    const own = as(port, text);
    const before = await streamOf(own);
    const { secret } = await root.access.rotateToken({ id, overlap: { seconds: 7_200n } });
    const during = await streamOf(own);
    const successor = as(port, secret);
    const next = await streamOf(successor);
    at(2 * HOUR - 1);
    await read(own);
    at(2 * HOUR);
    await expect(read(own)).rejects.toMatchObject(refused);
    for (const stream of [before, during])
      await expect(drained(stream)).rejects.toMatchObject(refused);
    await read(successor);
    await root.settings.saveSettings({ settings: [{ key: "site_title", value: "still heard" }] });
    expect(await next.next()).toMatchObject({ done: false });
    await next.return?.();
  });

  test("an ended token stays ended in this process when the clock is set back", async () => {
    const first = await started();
    const { text } = await give(as(first.port), ["settings:read"]);
    at(100 * DAY);
    await expect(read(as(first.port, text))).rejects.toMatchObject(refused);
    at(0);
    await expect(read(as(first.port, text))).rejects.toMatchObject(refused);
    const again = await started({ folder: first.folder });
    await read(as(again.port, text));
  });

  test("an expiry is compared with that clock when a token is created, too", async () => {
    const { port } = await started();
    const make = (end: number) =>
      as(port).access.createToken({
        principal: "late",
        scopes: ["settings:read"],
        expireTime: timestampFromMs(START + end),
      });
    await make(HOUR);
    await expect(make(0)).rejects.toMatchObject({ code: Code.InvalidArgument });
    at(2 * HOUR);
    await make(3 * HOUR);
    at(0);
    await expect(make(HOUR)).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});

describe("a token that expires soon", () => {
  test("is listed by the list, the status, the metric and the command line, until it has a successor", async () => {
    const { port, mooring } = await started();
    const root = as(port);
    const { id } = await give(root, ["settings:read"], [], "soon");
    const env = { MOORING_ADDRESS: `127.0.0.1:${port}`, MOORING_TOKEN: TOKEN };
    const cli = async (...args: string[]) => (await run(args, { env })).out;
    const shown = async () => ({
      listed: (await root.access.listTokens({ active: true })).tokens
        .filter((token) => token.expiresSoon)
        .map((token) => token.id),
      status: await root.status.getStatus({}),
      metric: mooring.gauges().expiringTokens,
      line: /^tokens .*\n.*/m.exec(await cli("status"))?.[0],
      table: (await cli("token", "list")).includes("(expires soon)"),
    });
    const nothing = {
      listed: [],
      metric: 0,
      line: undefined,
      table: false,
      status: { expiringTokenCount: 0, expiringTokens: [] },
    };
    expect(await shown()).toMatchObject(nothing);
    at(76 * DAY);
    const end = START + 90 * DAY;
    expect(await shown()).toMatchObject({
      listed: [id],
      status: {
        expiringTokenCount: 1,
        expiringTokens: [{ principal: "soon", tokenId: id, expireTime: timestampFromMs(end) }],
      },
      metric: 1,
      line: expect.stringMatching(
        new RegExp(`^tokens +1 token to .*\\n +soon +${id}, until 2027-`),
      ),
      table: true,
    });
    await root.access.rotateToken({ id });
    expect(await shown()).toMatchObject(nothing);
  });

  test("is named only to callers who manage tokens; others get the number", async () => {
    const { port } = await started();
    const root = as(port);
    const { id } = await give(root, ["settings:read"], [], "soon");
    at(80 * DAY);
    const manager = as(port, (await give(root, ["settings:read", "tokens:manage"])).text);
    const reader = as(port, (await give(root, ["settings:read"])).text);
    for (const who of [root, manager])
      expect(await who.status.getStatus({})).toMatchObject({
        expiringTokenCount: 1,
        expiringTokens: [{ principal: "soon", tokenId: id }],
      });
    expect(await reader.status.getStatus({})).toMatchObject({
      expiringTokenCount: 1,
      expiringTokens: [],
    });
  });

  test("is logged once a day, also over restarts, by one of all processes", async () => {
    const first = await started();
    const { id } = await give(as(first.port), ["settings:read"], [], "soon");
    const lines = ({ logLines }: TestService) =>
      logLines().filter(({ msg }) => String(msg).startsWith("tokens expire soon"));
    const until = new Date(START + 90 * DAY).toISOString();
    const named = [{ count: 1, tokens: [`soon/${id} until ${until}`] }];
    const later = async (days: number) => {
      at(days * DAY);
      const service = await startService({ folder: first.folder });
      await service.stop();
      return lines(service);
    };
    expect(lines(first)).toEqual([]);
    expect(await later(70)).toEqual([]);
    expect(await later(80)).toMatchObject(named);
    expect(await later(80.9)).toEqual([]);
    expect(await later(81)).toMatchObject(named);
    await as(first.port).access.revokeToken({ id });
    expect(await later(83)).toEqual([]);
  });
});

test("a status counts only the settings within a token's limits", async () => {
  const { port } = await started();
  const own = as(port, (await give(as(port), ["settings:read"], ["key:site_*"])).text);
  const { settings } = await own.status.getStatus({});
  expect(settings).toBe((await own.settings.listSettings({})).settings.length);
  expect(settings).toBeLessThan(20);
});
