// An import of records that a file declares, over every transport.
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { BackupService } from "../../gen/mooring/v1/backup_service_pb.js";
import { startedForEach } from "../started.ts";
import { as } from "./access-client.ts";
import { sharedPortTransports } from "./all-transports.ts";
import { startService } from "./service.ts";
import { invoke, read } from "./transport/transport.ts";

const service = startedForEach(startService);
const { importArchive } = BackupService.method;

const settings = (...values: readonly [key: string, value: string][]) => ({
  settings: values.map(([key, value]) => ({ key, value })),
});
const settingNow = async (key: string) =>
  (await as(service.port).settings.getSetting({ key })).setting?.value;

test.each(sharedPortTransports)(
  "over $name a declared document is applied as it stands, and its plan names what stays",
  async ({ open }) => {
    await as(service.port).settings.saveSettings(settings(["logo", "own"]));
    const transport = open(service);
    const title = { document: settings(["site_title", "Declared"]), declared: true };

    const plan = await read(transport, importArchive, { ...title, dryRun: true });
    expect(plan["results"]).toMatchObject([{ name: "site_title", outcome: "changed" }]);
    expect(plan).toHaveProperty("left_alone", [{ part: "settings", count: 1, names: ["logo"] }]);
    expect(await settingNow("site_title")).not.toBe("Declared");

    const wrong = settings(["default_page_size", "many"], ["site_title", "Declared"]);
    expect(
      await invoke(transport, importArchive, { document: wrong, declared: true }),
    ).toMatchObject({ kind: "failure", code: transport.codeOf(Code.InvalidArgument) });
    expect(await settingNow("site_title")).not.toBe("Declared");

    await read(transport, importArchive, title);
    expect([await settingNow("site_title"), await settingNow("logo")]).toEqual(["Declared", "own"]);
  },
);
