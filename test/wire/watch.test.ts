import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { DriverService } from "../../gen/mooring/v1/driver_service_pb.js";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { transports } from "./all-transports.ts";
import { PUBLIC_MEMBERS } from "./case/public.ts";
import { startService } from "./service.ts";
import { grpcTransport } from "./transport/grpc.ts";
import { invoke, read } from "./transport/transport.ts";

const { watchPublicSettings } = PublicService.method;
const { watchSettings, saveSettings } = SettingService.method;
const { watchDrivers } = DriverService.method;

const streaming = transports.filter(({ name }) => name !== "Connect GET");

describe.each(streaming)("streams over $name", ({ open, env = {} }) => {
  const service = startedForAll(() => startService({ env }));
  const transport = startedForAll(() => open(service));
  const writer = startedForAll(() => grpcTransport("gRPC", service.grpcPort));

  const save = async (key: string, value: string): Promise<void> => {
    await read(writer, saveSettings, { settings: [{ key, value }] });
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

  test.each([
    [
      "a NUL character in a request",
      { keys: ["site_title", "a\0"] },
      Code.InvalidArgument,
      /^keys\[1\]: must not contain the NUL character$/,
    ],
    [
      "more than 1,000 keys",
      { keys: Array.from({ length: 1_001 }, (_, index) => `key_${index}`) },
      Code.InvalidArgument,
      // Over REST the limit of parameters applies first.
      /at most 1000 keys|more than 1000 parameters/,
    ],
  ])("%s is refused", async (_what, request, code, message) => {
    expect(await invoke(transport, watchSettings, request)).toMatchObject({
      kind: "failure",
      code: transport.codeOf(code),
      message: expect.stringMatching(message),
    });
  });

  test("a stream resumes after a revision, secrets masked", async () => {
    const { etag: before } = await read(writer, SettingService.method.listSettings);
    await save("aria2_secret", "Secret-stream");
    const request = { afterEtag: before, keys: ["aria2_secret"] };
    expect(await read(transport, watchSettings, request)).toMatchObject({
      change: { actor: "admin", changes: [{ key: "aria2_secret", new_value: "********" }] },
    });
  });

  test("the drivers' stream begins with a reset for a client without a revision", async () => {
    expect(await read(transport, watchDrivers)).toMatchObject({
      reset: true,
      added: [],
      changed: [],
      removed: [],
    });
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
