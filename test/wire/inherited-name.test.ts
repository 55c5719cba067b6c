import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForEach } from "../started.ts";
import { newDatabaseFolder } from "../store/folder.ts";
import { as } from "./access-client.ts";
import { FOLLOWING, local, rowOf } from "./following.ts";
import { startService, TOKEN } from "./service.ts";

/** Members that every JavaScript object inherits: names like any other. */
const NAMES = ["constructor", "toString", "valueOf", "hasOwnProperty", "isPrototypeOf"];
/** Keys of settings may begin with an underscore. */
const KEYS = [...NAMES, "__proto__", "__defineGetter__"];

const site = startedForEach(startWholeSite);
const service = startedForEach(() => startService(FOLLOWING));
const admin = startedForEach(() => as(service.port));

/** Adds a row of the server's own. */
const addRow = (key: string, value: string) => {
  const row = site.settings.settings.rows.get("site_title");
  site.settings.settings.rows.set(key, { ...row, key, value, flag: 1 } as never);
};
/** Background work that failed, which the log reports. */
const failures = () =>
  service.logLines().filter(({ level, msg }) => Number(level) >= 50 || /failed/.test(String(msg)));
const setting = (key: string, value: string) => ({ key, value, type: "string", group: 0, flag: 1 });
const storedValue = async (key: string) =>
  (await admin.settings.getSetting({ key })).setting?.value;

describe("names that every object inherits", () => {
  test("are those of settings, which are saved, sent to a site, corrected, adopted and imported", async () => {
    const { sites, settings, backup } = admin;
    for (const key of KEYS) addRow(key, "of the site");
    await sites.createSite({ site: { name: "home", url: site.url, token: site.token() } });
    await sites.adoptSite({ name: "home" });
    for (const key of KEYS) expect(await storedValue(key)).toBe("of the site");
    await sites.updateSite({ name: "home", site: { mode: SiteMode.FOLLOW } });
    await settings.saveSettings({ settings: KEYS.map((key) => setting(key, "first")) });
    for (const key of KEYS) await expect.poll(() => site.settings.value(key)).toBe("first");
    for (const key of KEYS) site.settings.put(key, "drifted");
    for (const key of KEYS) await expect.poll(() => site.settings.value(key)).toBe("first");
    const own = Object.fromEntries(NAMES.map((key) => [key, "own"]));
    await sites.updateSite({ name: "home", site: { overrides: { values: own } } });
    for (const key of NAMES) await expect.poll(() => site.settings.value(key)).toBe("own");
    const { differences } = await sites.compareSite({ name: "home", all: true });
    const compared = differences.filter(({ key }) => KEYS.includes(key));
    expect(compared.map(({ key }) => key).sort()).toEqual([...KEYS].sort());
    const document = {
      encrypted: "",
      settings: KEYS.map((key) => ({ ...setting(key, "imported"), options: "", help: "" })),
    };
    await backup.importArchive({ only: ["settings"], document });
    for (const key of KEYS) expect(await storedValue(key)).toBe("imported");
    for (const key of KEYS)
      expect((await settings.listRevisions({ key })).revisions.length).toBe(3);
    expect(failures()).toEqual([]);
  });

  test.each(NAMES.slice(0, 2))("are those of sites and mounts: %s", async (name) => {
    const { sites, mounts, backup } = admin;
    await sites.createSite({ site: { name, url: site.url, token: site.token() } });
    await sites.syncSite({ name });
    await sites.updateSite({ name, site: { mode: SiteMode.FOLLOW } });
    const overrides = { [name]: { config: { root_folder_path: "/own" } } };
    await mounts.saveMounts({ mounts: [{ ...local(name, "/srv"), overrides }] });
    await expect.poll(() => rowOf(site, `/${name}`)?.status).toBe("work");
    expect(site.storages.addition(`/${name}`)["root_folder_path"]).toBe("/own");
    const { mount } = await mounts.getMount({ name });
    expect(mount?.overrides[name]?.config).toEqual({ root_folder_path: "/own" });
    const { document } = await mounts.exportMounts({});
    await mounts.deleteMounts({ names: [name] });
    await expect.poll(() => rowOf(site, `/${name}`)).toBeUndefined();
    const { results } = await backup.importArchive({ only: ["mounts"], document: document ?? {} });
    expect(results).toMatchObject([{ name, outcome: "created", leftOut: [] }]);
    await expect.poll(() => rowOf(site, `/${name}`)?.status).toBe("work");
    const row = site.storages.row(`/${name}`);
    await fetch(`${site.url}/api/admin/storage/update`, {
      method: "POST",
      headers: { authorization: site.token() },
      body: JSON.stringify({ ...row, remark: "there" }),
    });
    await sites.updateSite({ name, site: { mode: SiteMode.OBSERVE } });
    await mounts.compareMounts({ site: name });
    await mounts.adoptMounts({ site: name });
    await mounts.syncMounts({ site: name, names: [name] });
    expect((await mounts.listMounts({ site: name })).mounts).toHaveLength(1);
    expect((await sites.deleteSite({ name })).records).toMatchObject([{ name }]);
    expect(failures()).toEqual([]);
  });

  test("are refused as items and members of a mount", async () => {
    for (const name of KEYS)
      for (const part of ["config", "members"]) {
        const reply = await fetch(`http://127.0.0.1:${service.port}/api/admin/mount/save`, {
          method: "POST",
          headers: { authorization: TOKEN, "content-type": "application/json" },
          body: `{"mounts":[{"name":"m","mount_path":"/m","driver":"Local","config":{"root_folder_path":"/x"},"${part}":{"${name}":"x"}}]}`,
        });
        const { code } = (await reply.json()) as { code: number };
        expect([name, part, code]).toEqual([name, part, 400]);
      }
    expect((await admin.mounts.listMounts({})).mounts).toEqual([]);
  });

  test("are those of settings and mounts of files", async () => {
    const folder = newDatabaseFolder();
    const [settingsFile, mountsFile] = [join(folder, "settings.yaml"), join(folder, "mounts.yaml")];
    await writeFile(settingsFile, 'settings: { "constructor": "x", "toString": "y" }\n');
    const start = () => startService({ env: { MOORING_SETTINGS_FILE: settingsFile } });
    const refusal = await start().then(String, String);
    expect(refusal).toContain("constructor: there is no such setting");
    const mount = "{ path: /PATH, driver: Local, config: { root_folder_path: /x } }";
    const lines = NAMES.map((name) => `  ${name}: ${mount.replace("PATH", name)}`);
    await writeFile(mountsFile, `mounts:\n${lines.join("\n")}\n`);
    const declared = await startService({ env: { MOORING_MOUNTS_FILE: mountsFile } });
    onTestFinished(declared.stop);
    const { mounts } = await as(declared.port).mounts.listMounts({});
    expect(mounts.map(({ name }) => name)).toEqual([...NAMES].sort());
  });
});
