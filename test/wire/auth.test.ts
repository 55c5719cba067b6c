import { create, type DescMethod, type JsonObject } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, onTestFinished, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { publicMethods } from "../../src/access/requirement.ts";
import { startedForAll } from "../started.ts";
import { sharedPortTransports, transports } from "./all-transports.ts";
import { startService, TOKEN } from "./service.ts";
import { invoke, read, type Transport, WireFailure } from "./transport/transport.ts";

const methods = [PublicService, DriverService, SettingService].flatMap(({ methods }) => methods);
const closed = methods.filter((method) => !publicMethods.has(method));
const { listDriverNames } = DriverService.method;
const { resetToken, saveSettings, watchSettings } = SettingService.method;
const { watchPublicSettings } = PublicService.method;

/** Invalid credentials, and the message of the refusal. */
type Intruder = readonly [string, Record<string, string>, RegExp];
const NONE: Intruder = ["no header", {}, /missing token: send the admin token in the header/];
const WRONG: Intruder = ["a wrong token", { authorization: "wrong" }, /invalid token/];
const others: readonly Intruder[] = [
  ["an empty header", { authorization: "" }, /missing/],
  ["Bearer without a token", { authorization: "Bearer" }, /missing/],
  ["Bearer and a space", { authorization: "Bearer " }, /missing/],
  ["a wrong Bearer token", { authorization: "Bearer wrong" }, /invalid token/],
  ["the beginning of the token", { authorization: TOKEN.slice(0, -1) }, /invalid token/],
  ["the token with a suffix", { authorization: `${TOKEN}x` }, /invalid token/],
  ["the token twice", { authorization: `${TOKEN}, ${TOKEN}` }, /invalid token/],
  ["another scheme", { authorization: `Basic ${TOKEN}` }, /invalid token/],
];

/** Accepted spellings of the token. */
const keys: readonly string[] = [TOKEN, `Bearer ${TOKEN}`, `bearer ${TOKEN}`, `Bearer  ${TOKEN}`];

const shared = startedForAll(startService);

describe.each(transports)("over $name", ({ open, env }) => {
  const service = env === undefined ? shared : startedForAll(() => startService({ env }));
  const transport = startedForAll(() => open(service));

  const expectRefused = async (
    method: DescMethod,
    [name, headers, message]: Intruder,
  ): Promise<void> => {
    const outcome = await invoke(transport, method, {}, headers);
    expect(outcome, `${method.name} with ${name}`).toMatchObject({
      kind: "failure",
      code: transport.codeOf(Code.Unauthenticated),
      message: expect.stringMatching(message),
    });
  };

  test("every method of the contract refuses calls without a token, and with a wrong one", async () => {
    for (const method of closed.filter(transport.carries))
      for (const intruder of [NONE, WRONG]) await expectRefused(method, intruder);
  });

  test.each(others)("%s is refused", (...intruder) => expectRefused(listDriverNames, intruder));

  test.each(keys)("the token is accepted as %j", async (authorization) => {
    const outcome = await invoke(transport, listDriverNames, {}, { authorization });
    expect(outcome).toMatchObject({ kind: "reply" });
  });

  test("no attempted token is in the log", () => {
    expect(service.log()).not.toContain(TOKEN.slice(0, -1));
  });
});

describe("a token that was reset", () => {
  const first = startedForAll(startService);
  const second = startedForAll(() => startService({ folder: first.folder }));
  /** The current token. */
  let token = TOKEN;
  const openAll = (): Transport[] => {
    const opened = [first, second].flatMap((service) =>
      sharedPortTransports.map(({ open }) => open(service)),
    );
    onTestFinished(() => opened.forEach(({ close }) => void close()));
    return opened;
  };

  test("is refused at once on every transport, in every process on the database", async () => {
    const old = { authorization: TOKEN };
    const opened = openAll();
    for (const transport of opened)
      expect(await invoke(transport, listDriverNames, {}, old), transport.name).toMatchObject({
        kind: "reply",
      });
    token = await reset(opened[0], TOKEN);
    expect(token).toMatch(/^mooring-[\w-]{43}$/);
    for (const transport of opened) {
      const before = await invoke(transport, listDriverNames, {}, old);
      expect(before, transport.name).toMatchObject({
        code: transport.codeOf(Code.Unauthenticated),
      });
      const headers = { authorization: token };
      const after = await invoke(transport, listDriverNames, {}, headers);
      expect(after, transport.name).toMatchObject({ kind: "reply" });
    }
  });

  test("ends its streams on every transport, in every process, and no others", async () => {
    const opened = openAll().filter(({ carries }) => carries(watchSettings));
    const streams = opened.map((transport) => ({
      transport,
      settings: transport
        .watch(watchSettings, create(watchSettings.input), { headers: { authorization: token } })
        [Symbol.asyncIterator](),
      publicSettings: transport
        .watch(watchPublicSettings, create(watchPublicSettings.input), {})
        [Symbol.asyncIterator](),
    }));
    for (const { settings, publicSettings } of streams) {
      await settings.next();
      await publicSettings.next();
    }
    token = await reset(opened[0], token);
    for (const { transport, settings } of streams) {
      const failure = await endOf(settings);
      expect(failure, transport.name).toMatchObject({
        code: transport.codeOf(Code.Unauthenticated),
        message: expect.stringMatching(/the token was reset or revoked/),
      });
    }
    const save = create(saveSettings.input, { settings: [{ key: "site_title", value: "New" }] });
    await opened[0]?.call(saveSettings, save, { headers: { authorization: token } });
    for (const { transport, publicSettings } of streams)
      expect(await changeIn(publicSettings), transport.name).toMatchObject({ site_title: "New" });
  });
});

/** The failure that a stream ends with. */
async function endOf(stream: AsyncIterator<unknown>): Promise<unknown> {
  try {
    for (;;) if ((await stream.next()).done) return "an end without a reason";
  } catch (error) {
    return error instanceof WireFailure ? error.failure : error;
  }
}

/** The next change of public settings. */
async function changeIn(stream: AsyncIterator<JsonObject>): Promise<unknown> {
  for (;;) {
    const { done, value } = await stream.next();
    if (done) return "an end";
    if (value["change"]) return (value["change"] as JsonObject)["set"];
  }
}

async function reset(transport: Transport | undefined, token: string): Promise<string> {
  if (transport === undefined) throw new Error("no transport");
  return String((await read(transport, resetToken, {}, { authorization: token }))["token"]);
}
