import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createGrant, ROOT, SCOPES } from "../../src/access/grant.ts";
import { requirementOf } from "../../src/access/requirement.ts";
import { servedServices } from "../../src/app/routes.ts";
import { startStandIn } from "../sites/stand-in.ts";
import { startedForAll } from "../started.ts";
import { type LocalServices, startLocalServices } from "./local-services.ts";

/** Streams of one kind. */
const STREAMS = 25;

const LIMITED = createGrant(
  SCOPES.filter((scope) => /^(settings|mounts|rules|drivers)/.test(scope)),
  ["mount:/team/*", "rule:/team/*", "key:site_*"],
);

const site = startedForAll(startStandIn);
let folder: string;
const drivers = (): string => join(folder, "drivers");
let local: LocalServices;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-watch-"));
  mkdirSync(drivers());
  local = await startLocalServices(folder, { MOORING_DRIVERS_DIR: drivers() });
  await local.call("CreateSite", { site: { name: "one", url: site.url, token: site.token() } });
  await local.call("SaveMounts", { mounts: [mount("before")] });
});

afterAll(async () => {
  await local?.close();
  await rm(folder, { recursive: true, force: true });
});

function mount(name: string): Record<string, unknown> {
  return {
    name,
    mountPath: `/team/${name}`,
    driver: "Local",
    config: { root_folder_path: "/" },
  };
}

const save = (title: string) => () =>
  local.call("SaveSettings", { settings: [{ key: "site_title", value: title }] });

/** A change that each stream shows. */
const changes: Readonly<Record<string, () => unknown>> = {
  WatchPublicSettings: save("public"),
  WatchSettings: save("settings"),
  WatchAudit: save("audit"),
  WatchMounts: () => local.call("SaveMounts", { mounts: [mount("after")] }),
  WatchRules: () =>
    local.call("SaveRules", {
      rules: [{ path: "/team/after", readme: "x", sites: { all: true } }],
    }),
  WatchSites: () =>
    local.call("UpdateSite", { name: "one", site: { exclude: { patterns: ["aria2_*"] } } }),
  WatchIncidents: () =>
    site.mounts.push({
      id: 77,
      mount_path: "/failing",
      driver: "Local",
      status: "failed: no such folder",
      disabled: false,
      addition: "{}",
    }),
  WatchDrivers: () =>
    writeFileSync(
      join(drivers(), "own.json"),
      JSON.stringify({ name: "Own", config: {}, additional: [{ use: "root_folder_path" }] }),
    ),
};

const watches = servedServices
  .flatMap((service) => service.methods)
  .filter(({ methodKind }) => methodKind === "server_streaming");

describe.each(watches.map((desc) => [desc.name, desc] as const))("streams of %s", (name, desc) => {
  const grants = requirementOf(desc).limited ? [ROOT, LIMITED] : [ROOT];

  test("share each message, so that it is built and encoded once", async () => {
    const makeChange = changes[name];
    if (makeChange === undefined) throw new Error(`give ${name} a change that it shows`);
    const kinds = grants.map((grant) =>
      Array.from({ length: STREAMS }, () => {
        const stream = local.open(desc, grant);
        onTestFinished(stream.close);
        return stream;
      }),
    );
    const next = () =>
      Promise.all(kinds.map((streams) => Promise.all(streams.map((stream) => stream.next()))));
    for (const messages of await next()) expect(new Set(messages).size).toBe(1);
    const pending = next();
    await makeChange();
    for (const messages of await pending) {
      expect(messages[0]).toBeDefined();
      // A state that changes again while it is read gives a second message.
      expect(new Set(messages).size).toBeLessThanOrEqual(3);
    }
  });
});
