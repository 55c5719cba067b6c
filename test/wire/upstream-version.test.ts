import type { DescMethod, JsonObject } from "@bufbuild/protobuf";
import { beforeAll, describe, expect, test } from "vitest";
import { PublicService } from "../../gen/mooring/v1/public_service_pb.js";
import { SettingService } from "../../gen/mooring/v1/setting_service_pb.js";
import { startedForAll } from "../started.ts";
import { transports } from "./all-transports.ts";
import { TOKEN, VERSION } from "./service.ts";
import { read } from "./transport/transport.ts";
import { startFront } from "./upstream.ts";

const { getPublicSettings, watchPublicSettings } = PublicService.method;
const { listSettings, getSetting, batchGetSettings, watchSettings } = SettingService.method;

/** Each transport has its own service in front. */
describe.each(transports)("in front of a server, over $name", ({ open, env = {} }) => {
  const front = startedForAll(() => startFront({ env }));
  const transport = startedForAll(() => open(front.service));
  let login: string;

  beforeAll(async () => {
    login = await front.login();
  });

  const remoteVersion = () => front.site.value("version") ?? "";

  /** The version in the first reply or event, at any depth. */
  async function versionFor(
    method: DescMethod,
    authorization: string,
    input: Record<string, unknown> = {},
  ): Promise<string | undefined> {
    return versionIn(await read(transport, method, input, { authorization }));
  }

  test("every client gets the server's version, in a read and in a watch", async () => {
    expect(remoteVersion()).not.toBe(VERSION);
    expect(await versionFor(getPublicSettings, "")).toBe(remoteVersion());
    if (transport.name !== "Connect GET")
      expect(await versionFor(watchPublicSettings, "")).toBe(remoteVersion());
  });

  test.each([
    ["listSettings", listSettings, {}],
    ["getSetting", getSetting, { key: "version" }],
    ["batchGetSettings", batchGetSettings, { keys: ["version"] }],
    ["watchSettings", watchSettings, {}],
  ] as const)(
    "%s: the server's admin gets its version, Mooring's own token Mooring's",
    async (_, method, input) => {
      if (transport.name === "Connect GET" && method === watchSettings) return;
      expect(await versionFor(method, login, input)).toBe(remoteVersion());
      expect(await versionFor(method, TOKEN, input)).toBe(VERSION);
    },
  );
});

function versionIn(message: JsonObject): string | undefined {
  const { snapshot = message } = message as { snapshot?: JsonObject };
  const { settings, setting } = snapshot as { settings?: unknown; setting?: unknown };
  if (settings !== undefined && !Array.isArray(settings))
    return (settings as Record<string, string>)["version"];
  const rows = (settings ?? [setting]) as { key: string; value: string }[];
  return rows.find(({ key }) => key === "version")?.value;
}
