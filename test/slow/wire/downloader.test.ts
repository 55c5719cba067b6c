import { Code } from "@connectrpc/connect";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { SettingService } from "../../../gen/mooring/v1/setting_service_pb.js";
import { type Aria2c, startAria2c } from "../../downloaders/aria2c.ts";
import { needs } from "../../downloaders/program.ts";
import { type QbittorrentNox, startQbittorrentNox } from "../../downloaders/qbittorrent-nox.ts";
import { startedForAll } from "../../started.ts";
import { transports } from "../../wire/all-transports.ts";
import { startService, TOKEN } from "../../wire/service.ts";
import { invoke, type Outcome, read } from "../../wire/transport/transport.ts";

// Failures of each kind are in test/downloaders and test/slow/downloaders.

const { setAria2, setQbittorrent, batchGetSettings } = SettingService.method;

const chosen = transports.filter(({ name }) => name === "REST" || name === "gRPC");

/** Passwords of these tests, which must be nowhere but in the settings. */
const SECRETS = { right: "Secret-right-7f3a", wrong: "Secret-wrong-91bc" } as const;

describe.each(chosen)("over $name", ({ open }) => {
  const service = startedForAll(startService);
  const transport = startedForAll(() => open(service));

  const stored = async (...keys: readonly string[]): Promise<string[]> => {
    const { settings } = await read(transport, batchGetSettings, { keys });
    return (settings as { value: string }[]).map(({ value }) => value);
  };

  const expectRefusal = (outcome: Outcome, message: RegExp): void => {
    expect(outcome).toMatchObject({
      kind: "failure",
      code: transport.codeOf(Code.FailedPrecondition),
      message: expect.stringMatching(message),
    });
    expect(JSON.stringify(outcome)).not.toMatch(/Secret-/);
  };

  describe("set_aria2", () => {
    let aria2: Aria2c | undefined;
    const set = (secret: string): Promise<Outcome> =>
      invoke(transport, setAria2, { uri: aria2?.uri("http") ?? "", secret });

    beforeEach(needs("aria2c"));
    beforeAll(async () => {
      aria2 = await startAria2c({ secret: SECRETS.right }).catch(() => undefined);
    });
    afterAll(() => aria2?.stop());

    test("stores address and secret after a reply, and nothing after a refusal", async () => {
      expect(await set(SECRETS.right)).toMatchObject({
        kind: "reply",
        message: { version: expect.stringMatching(/^\d+\.\d+\.\d+$/) },
      });
      expectRefusal(await set(SECRETS.wrong), /wrong secret/);
      expect(await stored("aria2_uri", "aria2_secret")).toEqual([
        aria2?.uri("http"),
        SECRETS.right,
      ]);
    });
  });

  describe("set_qbit", () => {
    let qbit: QbittorrentNox | undefined;
    const urlWith = (password: string): string => qbit?.url({ user: "admin", password }) ?? "";
    const set = (password: string, seedtime: number): Promise<Outcome> =>
      invoke(transport, setQbittorrent, { url: urlWith(password), seedtime });

    beforeEach(needs("qbittorrent-nox"));
    beforeAll(async () => {
      qbit = await startQbittorrentNox({ password: SECRETS.right }).catch(() => undefined);
    });
    afterAll(() => qbit?.stop());

    test("stores address and seeding time after a login, and nothing after a refusal", async () => {
      expect(await set(SECRETS.right, 90)).toMatchObject({
        kind: "reply",
        message: { status: "ok" },
      });
      expectRefusal(await set(SECRETS.wrong, 1), /log.?in|password/i);
      expect(await stored("qbittorrent_url", "qbittorrent_seedtime")).toEqual([
        urlWith(SECRETS.right),
        "90",
      ]);
    });
  });

  test("no password is in the log", () => {
    expect(service.log()).not.toMatch(/Secret-/);
    expect(service.log()).not.toContain(TOKEN);
  });
});
