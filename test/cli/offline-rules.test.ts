// The rules of a service in commands on its database.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { openOffline } from "../../src/app/offline.ts";
import { readDatabaseConfig } from "../../src/cli/connection.ts";
import { service, useService } from "./service.ts";
import { run, start } from "./world.ts";

const VARIABLES = {
  MOORING_FAMILY: "alist",
  MOORING_DRIVERS_ENABLED: "Local",
  MOORING_MAX_VALUE: "1KiB",
  MOORING_MAX_CUSTOM_SETTINGS: "0",
};
useService(VARIABLES);
afterEach(() => void vi.useRealTimers());

const archive = (parts: Readonly<Record<string, unknown>>) =>
  JSON.stringify({ format: "mooring-archive", version: 1, ...parts });

const refused: readonly [what: string, args: readonly string[], file?: string][] = [
  ["a value beyond MOORING_MAX_VALUE", ["set", `announcement=${"x".repeat(2_000)}`]],
  ["a custom setting beyond MOORING_MAX_CUSTOM_SETTINGS", ["set", "--new", "mine=1"]],
  ["a setting of another family", ["set", "share_preview=true"]],
  [
    "an imported value beyond MOORING_MAX_VALUE",
    ["import", "a.json", "--yes"],
    archive({ settings: [{ key: "announcement", value: "x".repeat(2_000) }] }),
  ],
  [
    "a mount of a driver that MOORING_DRIVERS_ENABLED does not name",
    ["import", "a.json", "--yes"],
    archive({
      mounts: [{ name: "dav", path: "/dav", driver: "WebDav", config: {}, sites: "all" }],
    }),
  ],
  [
    "a declared value beyond MOORING_MAX_VALUE",
    ["apply", "a.yaml", "--yes"],
    `settings:\n  announcement: ${"x".repeat(2_000)}\n`,
  ],
];

test.each(refused)("a command on the database treats %s as the service", async (_, args, file) => {
  const [, name = ""] = args;
  if (file !== undefined) await writeFile(join(service.folder, name), file);
  const there = await service.cli(args);
  expect(there.code).not.toBe(0);
  const here = await run([...args, "--database", service.database], {
    cwd: service.folder,
    env: VARIABLES,
  });
  expect(here).toEqual(there);
});

test("a command on the database deletes no revisions, however long it runs", async () => {
  for (const value of ["a", "b", "c"]) await service.cli(["set", `site_title=${value}`]);
  const { world } = start([], { env: { MOORING_FAMILY: "alist" } });
  const config = { ...readDatabaseConfig(service.database, world), historyRevisions: 1 };
  const before = await service.cli(["history", "--json"]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const offline = await openOffline(config);
  await vi.advanceTimersByTimeAsync(600_000);
  vi.useRealTimers();
  await offline.close();
  expect(await service.cli(["history", "--json"])).toEqual(before);
});
