// What servers have besides, as a part of restores.
import { describe, expect, test } from "vitest";
import { ROOT } from "../../src/access/grant.ts";
import type { ArchiveEntry } from "../../src/archive/part.ts";
import { createServerPart } from "../../src/servers/archive-part.ts";
import { createServerService } from "../../src/servers/service.ts";
import type { Site } from "../../src/sites/site.ts";
import { IMPORT_ALL } from "../archive/import-options.ts";
import { ORIGIN } from "../sites/follower.ts";
import { home, mooring, openSites, users, useUsers } from "../users/two-sites.ts";

useUsers();

const CHOICES = { ...IMPORT_ALL, siteNames: new Map([["home", "hut"]]) };

/** Exports `home` and restores it to `hut`, without or with changes to the entry. */
async function restored(
  dryRun: boolean,
  edit: (entry: ArchiveEntry) => ArchiveEntry = (entry) => entry,
  {
    planned = [],
    hold = () => undefined,
  }: { planned?: readonly Site[]; hold?: (name: string) => unknown } = {},
): Promise<string[]> {
  const { registry, sync } = mooring.sites;
  const part = createServerPart({
    servers: createServerService({ registry, clientOf: sync.clientOf, users }),
    sites: registry.sites,
    siteNames: registry.names,
    plannedBy: () => planned,
    hold: async (_context, name) => void hold(name),
    release: async () => undefined,
  });
  const request = { grant: ROOT, names: ["home"], includeServerOwn: false, withSecrets: true };
  const { entries } = await part.export(request);
  const caller = { grant: ROOT, origin: ORIGIN };
  const context = { caller, choices: CHOICES, dryRun };
  const results = await part.write({ entries: entries.map(edit) }, context);
  return results.map(({ name, outcome }) => `${name} ${outcome}`);
}

test.each([true, false])(
  "results have the name of the site that is restored to (dry run: %s)",
  async (dryRun) => {
    await openSites();
    home.users.add({ username: "ann" });
    home.rules.put({ path: "/films", readme: "x" });
    expect(await restored(dryRun)).toEqual(
      expect.arrayContaining(["hut users ann created", "hut rules /films created"]),
    );
  },
);

const unreadable = [
  ["sealed", { secrets: {} }],
  ["unreadable", { secrets: { contents: "{" } }],
] as const;

describe.each(unreadable)("contents that are %s", (_what, change) => {
  test.each<[site: string, changes: Partial<Site>, rules: number, held: readonly string[]]>([
    ["that begins to follow on another server", { url: "http://127.0.0.1:1" }, 1, ["hut"]],
    ["whose backup has no folder rules", { url: "http://127.0.0.1:1" }, 0, []],
    ["that follows its server already", {}, 1, []],
    ["that is paused in the backup", { url: "http://127.0.0.1:1", paused: true }, 1, []],
    ["that is only observed", { url: "http://127.0.0.1:1", mode: "observe" }, 1, []],
  ])("hold a site %s", async (_site, changes, rules, held) => {
    await openSites();
    const [hut] = mooring.sites.registry.sites().filter(({ name }) => name === "hut");
    const planned = [{ ...(hut as Site), mode: "follow", ...changes } as Site];
    const found: string[] = [];
    const edit = ({ content, ...entry }: ArchiveEntry) => ({
      ...entry,
      ...change,
      content: { ...content, rules },
    });
    for (const dryRun of [true, false])
      expect(await restored(dryRun, edit, { planned, hold: (name) => found.push(name) })).toEqual([
        "hut skipped",
      ]);
    expect(found).toEqual([...held, ...held]);
  });
});
