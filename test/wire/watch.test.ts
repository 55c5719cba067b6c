import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { transports } from "./all-transports.ts";
import { PUBLIC_MEMBERS } from "./case/public.ts";
import { startService, TOKEN } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { WireFailure } from "./transport/transport.ts";

const { watchPublicSettings } = PublicService.method;
const { watchSettings, saveSettings } = SettingService.method;
const { watchDrivers } = DriverService.method;
const admin = { authorization: TOKEN };

const streaming = transports.filter(({ name }) => name !== "Connect GET");

describe.each(streaming)("streams over $name", ({ open, env = {} }) => {
  const service = startedForAll(() => startService({ env }));
  const transport = startedForAll(() => open(service));
  const writer = startedForAll(() => grpcTransport("gRPC", service.grpcPort));

  const save = async (key: string, value: string): Promise<void> => {
    const request = create(saveSettings.input, { settings: [{ key, value }] });
    const { kind } = await writer.call(saveSettings, request, { headers: admin });
    expect(kind).toBe("reply");
  };

  test("the public settings are sent completely, followed by each change", async () => {
    const events = transport.watch(watchPublicSettings, create(watchPublicSettings.input), {});
    const iterator = events[Symbol.asyncIterator]();
    const first = await iterator.next();
    expect(first.value).toMatchObject({
      snapshot: {
        settings: Object.fromEntries(PUBLIC_MEMBERS.map((name) => [name, expect.any(String)])),
      },
    });
    await save("site_title", `over ${transport.name}`);
    const second = await iterator.next();
    expect(second.value).toMatchObject({
      change: { set: { site_title: `over ${transport.name}` }, removed: [] },
    });
    await iterator.return?.();
  });

  test("a NUL character in a request is refused", async () => {
    const request = create(watchSettings.input, { keys: ["site_title", "a\0"] });
    const stream = transport.watch(watchSettings, request, { headers: admin });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      failure: {
        code: transport.codeOf(Code.InvalidArgument),
        message: "keys[1]: must not contain the NUL character",
      },
    });
  });

  test("more than 1,000 keys are refused", async () => {
    const keys = Array.from({ length: 1_001 }, (_, index) => `key_${index}`);
    const stream = transport.watch(watchSettings, create(watchSettings.input, { keys }), {
      headers: admin,
    });
    await expect(stream[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      failure: {
        code: transport.codeOf(Code.InvalidArgument),
        // Over REST the limit of parameters applies first.
        message: expect.stringMatching(/at most 1000 keys|more than 1000 parameters/),
      },
    });
  });

  test("a stream resumes after a revision, secrets masked", async () => {
    await save("aria2_secret", "Secret-stream");
    const request = create(watchSettings.input, { afterRevision: 1n, keys: ["aria2_secret"] });
    for await (const event of transport.watch(watchSettings, request, { headers: admin })) {
      expect(event).toMatchObject({
        change: { actor: "admin", changes: [{ key: "aria2_secret", new_value: "********" }] },
      });
      break;
    }
  });

  test("the drivers' stream begins with a reset for a client without a revision", async () => {
    const request = create(watchDrivers.input);
    for await (const event of transport.watch(watchDrivers, request, { headers: admin })) {
      expect(event).toMatchObject({ reset: true, added: [], changed: [], removed: [] });
      break;
    }
  });

  test("a revision that does not exist yet is refused", async () => {
    const request = create(watchSettings.input, { afterRevision: 1_000_000n });
    const read = async (): Promise<void> => {
      for await (const _ of transport.watch(watchSettings, request, { headers: admin })) break;
    };
    const failure = await read().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(WireFailure);
    expect((failure as WireFailure).failure.code).toBe(transport.codeOf(Code.OutOfRange));
  });

  test("streams end with UNAVAILABLE when the service stops", async () => {
    const stopping = await startService({ env });
    const leaving = open(stopping);
    const events = leaving.watch(watchPublicSettings, create(watchPublicSettings.input), {});
    const iterator = events[Symbol.asyncIterator]();
    await iterator.next();
    const rest = iterator.next().catch((error: unknown) => error);
    await stopping.stop();
    expect(await rest).toMatchObject({ failure: { code: leaving.codeOf(Code.Unavailable) } });
    leaving.close();
  });
});
