// Mounts of a server's rows, by adoption and by import. What a row becomes: test/mounts/taken-as-is.test.ts.
import { expect, test } from "vitest";
import { SiteMode } from "../../gen/mooring/v1/site_pb.js";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { local, rowOf, startFollowed } from "./following.ts";

const one = startedForAll(startWholeSite);
const late = startedForAll(startWholeSite);
const service = startedForAll(() => startFollowed({ one }));
const admin = startedForAll(() => as(service.port));
const outcomes = (results: readonly { name: string; outcome: string }[]) =>
  results.map(({ name, outcome }) => `${name} ${outcome}`);

test("first contact with a server that has mounts writes nothing there, and adopts all of them as one revision", async () => {
  for (const name of ["old", "older"])
    await fetch(`${late.url}/api/admin/storage/create`, {
      method: "POST",
      headers: { authorization: late.token() },
      body: JSON.stringify({
        mount_path: `/${name}`,
        driver: "Local",
        addition: JSON.stringify({ root_folder_path: `/srv/${name}` }),
        remark: "by hand",
        cache_expiration: 45,
      }),
    });
  const writes = () => late.storages.calls.filter(({ call }) => call.startsWith("POST")).length;
  const before = writes();
  await admin.sites.createSite({ site: { name: "late", url: late.url, token: late.token() } });
  await admin.sites.syncSite({ name: "late" });
  await admin.sites.updateSite({ name: "late", site: { mode: SiteMode.FOLLOW } });
  await admin.mounts.saveMounts({ mounts: [local("new", "/n")] });
  await expect.poll(() => rowOf(one, "/new")?.status).toBe("work");
  const compared = await admin.mounts.compareMounts({ site: "late" });
  expect(outcomes(compared.results)).toEqual(["new created", "/old skipped", "/older skipped"]);
  expect(writes()).toBe(before);
  const dry = await admin.mounts.adoptMounts({ site: "late", dryRun: true });
  expect(outcomes(dry.results)).toEqual(["old created", "older created"]);
  const { revision } = await admin.mounts.listMounts({});
  expect((await admin.mounts.adoptMounts({ site: "late" })).revision).toBe(revision + 1n);
  // `cache_expiration` is in no form of Local. It is kept in copies and by other changes.
  expect((await admin.mounts.getMount({ name: "old" })).mount).toMatchObject({
    sites: { names: ["late"] },
    members: { remark: "by hand", cache_expiration: 45 },
  });
  await admin.mounts.copyMount({ name: "old", newName: "cloned", mountPath: "/cloned" });
  await admin.mounts.saveMounts({ mounts: [{ name: "cloned", members: { remark: "copy" } }] });
  await expect.poll(() => rowOf(late, "/cloned")?.remark).toBe("copy");
  expect(rowOf(late, "/cloned")?.["cache_expiration"]).toBe(45);
  await expect(
    admin.mounts.saveMounts({ mounts: [{ name: "cloned", members: { cache_expiration: 5 } }] }),
  ).rejects.toThrow("cache_expiration");
  // From now on Mooring's changes are pushed, and adopted mounts get none.
  const updates = late.storages.count("POST /api/admin/storage/update");
  await expect.poll(() => rowOf(late, "/new")?.status).toBe("work");
  expect(late.storages.count("POST /api/admin/storage/update")).toBe(updates);
});

test("a mount whose document lacks a secret that it needs gets to no site before it is given", async () => {
  const alist = (name: string, token: string) => ({
    name,
    mountPath: `/${name}`,
    driver: "AList V3",
    sites: { names: ["one"] },
    config: { url: "https://x", password: "", token },
  });
  const names = ["box", "open"];
  await admin.mounts.saveMounts({ mounts: [alist("box", "kept-by-nobody"), alist("open", "")] });
  const statuses = () => names.map((name) => rowOf(one, `/${name}`)?.status);
  await expect.poll(statuses).toEqual(["work", "work"]);
  const { document = {} } = await admin.mounts.exportMounts({ names });
  expect(document).toMatchObject({ storages: [{ missing: ["token"] }, {}] });
  expect(JSON.stringify(document)).not.toContain("kept-by-nobody");
  await admin.mounts.deleteMounts({ names });
  await expect.poll(statuses).toEqual([undefined, undefined]);
  const { results } = await admin.backup.importArchive({ document });
  expect(outcomes(results)).toEqual(["box created", "open created"]);
  expect(results[0]?.note).toContain("config.token: the document has no secrets");
  const mount = async (name: string) => (await admin.mounts.getMount({ name })).mount;
  expect(await mount("box")).toMatchObject({ missing: ["config.token"] });
  expect(await mount("box")).toMatchObject({ status: [{ state: "stuck" }] });
  expect((await mount("open"))?.missing).toEqual([]);
  await expect.poll(() => rowOf(one, "/open")?.status).toBe("work");
  expect(rowOf(one, "/box")).toBe(undefined);
  await admin.mounts.saveMounts({ mounts: [{ name: "box", config: { token: "new" } }] });
  await expect.poll(() => rowOf(one, "/box")?.status).toBe("work");
});
