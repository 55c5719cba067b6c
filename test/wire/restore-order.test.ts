// Order of a restore on the server of a site that follows: its own folder rules come before the mounts.
import type { JsonObject } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForEach } from "../started.ts";
import { as } from "./access-client.ts";
import { FOLLOWING, local, rowOf, startFollowed } from "./following.ts";

const home = startedForEach(startWholeSite);
const service = startedForEach(() => startFollowed({ home }, FOLLOWING));
const admin = startedForEach(() => as(service.port));
const PASSPHRASE = "the passphrase of the order";

/** A backup of a mount at `/films` and of rules that Mooring does not manage, which are lost then. */
async function lose(...rules: readonly { readonly path: string }[]): Promise<JsonObject> {
  const { mounts, backup } = admin;
  await mounts.saveMounts({ mounts: [local("films", "/")] });
  await expect.poll(() => rowOf(home, "/films")?.status).toBe("work");
  home.settings.users.add({ username: "zoe" });
  const zoe = home.settings.users.named("zoe")?.id ?? 0;
  for (const rule of rules) home.settings.rules.put({ read_users: [zoe], ...rule });
  const { document } = await backup.createBackup({ passphrase: PASSPHRASE, download: true });
  await mounts.deleteMounts({ names: ["films"] });
  await expect.poll(() => rowOf(home, "/films")).toBeUndefined();
  home.settings.rules.rows.clear();
  home.settings.users.rows.delete(zoe);
  return document ?? {};
}

/** Paths of rules that the server lacks when it gets a mount. */
function openAt(paths: readonly string[]): string[] {
  const { rows } = home.storages;
  const open: string[] = [];
  const set = rows.set.bind(rows);
  rows.set = (...row) => {
    open.push(...paths.filter((path) => home.settings.rules.at(path) === undefined));
    return set(...row);
  };
  return open;
}

test.each([
  ["at the path of the mount", "/films"],
  ["of a sub-folder", "/films/private"],
  ["above it", "/"],
])("a mount is not on the server before its own rule %s", async (_where, path) => {
  const document = await lose({ path }, { path: "/other" });
  const open = openAt([path, "/other"]);
  const { results } = await admin.backup.restoreBackup({ document, passphrase: PASSPHRASE });
  expect(results).toContainEqual(
    expect.objectContaining({ name: `home rules ${path}`, outcome: "created" }),
  );
  await expect.poll(() => rowOf(home, "/films")?.status).toBe("work");
  expect(open).toEqual([]);
  const zoe = home.settings.users.named("zoe")?.id;
  expect(home.settings.rules.at(path)?.read_users).toEqual([zoe]);
});

test("a site whose own rules could not be restored is paused, says why, and goes on when they are there", async () => {
  // The server refuses a line that is no regular expression.
  const document = await lose({ path: "/films", hide: "(" } as { readonly path: string });
  const request = { document, passphrase: PASSPHRASE };
  const { results } = await admin.backup.restoreBackup(request);
  expect(results.find(({ name }) => name === "home rules /films")).toMatchObject({
    outcome: "skipped",
    isLoss: true,
  });
  const siteNow = async () => (await admin.sites.getSite({ name: "home" })).site;
  expect(await siteNow()).toMatchObject({
    paused: true,
    status: {
      state: "stuck",
      cause: expect.stringContaining("a restore that has not ended"),
      remedy: expect.stringContaining("site set home paused=false"),
    },
  });
  const ready = await fetch(`http://127.0.0.1:${service.port}/readyz?verbose`);
  expect(await ready.text()).toContain("paused by a restore that has not ended: home");
  expect(rowOf(home, "/films")).toBeUndefined();
  // The same restore again changes nothing about it.
  await admin.backup.restoreBackup(request);
  expect(await siteNow()).toMatchObject({ paused: true });
  home.settings.rules.put({ path: "/films", password: "by hand" });
  await admin.backup.restoreBackup({ ...request, only: ["servers"] });
  expect(await siteNow()).toMatchObject({ paused: false });
  await expect.poll(() => rowOf(home, "/films")?.status).toBe("work");
});

test("an operator ends the wait for a restore by resuming the site", async () => {
  const document = await lose({ path: "/films", hide: "(" } as { readonly path: string });
  await admin.backup.restoreBackup({ document, passphrase: PASSPHRASE });
  const { site } = await admin.sites.updateSite({ name: "home", site: { paused: false } });
  expect(site?.status?.cause).not.toContain("restore");
  await expect.poll(() => rowOf(home, "/films")?.status).toBe("work");
});
