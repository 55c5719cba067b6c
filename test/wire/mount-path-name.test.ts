// A mount is named by its path wherever its name is accepted.
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { as } from "./access-client.ts";
import { local } from "./following.ts";
import { startService, TOKEN } from "./service.ts";

const service = startedForAll(startService);
const admin = startedForAll(() => as(service.port));
const one = startedForAll(startWholeSite);
const two = startedForAll(startWholeSite);
const nameOf = async (name: string) => (await admin.mounts.getMount({ name })).mount?.name;

test("every call that names a mount takes its path", async () => {
  await admin.mounts.saveMounts({ mounts: [local("本机", "/srv", { mountPath: "/本机存储" })] });
  expect(await nameOf("本机")).toBe("本机");
  expect(await nameOf("/本机存储")).toBe("本机");
  expect(await nameOf("/本机存储/")).toBe("本机");
  const saved = await admin.mounts.saveMounts({
    mounts: [{ name: "/本机存储", members: { remark: "by path" } }],
  });
  expect(saved.results).toMatchObject([{ name: "本机", outcome: "changed" }]);
  await admin.mounts.copyMount({ name: "/本机存储", newName: "copy", mountPath: "/copy" });
  await admin.mounts.renameMount({ name: "/copy", newName: "Cafe\u0301" });
  expect(await nameOf("/copy")).toBe("Caf\u00e9");
  expect(await nameOf("Cafe\u0301")).toBe("Caf\u00e9");
  const { document } = await admin.mounts.exportMounts({ names: ["/copy", "Café"] });
  expect(document?.["storages"]).toHaveLength(1);
  const replaced = await admin.mounts.replaceCredential({
    name: "/copy",
    item: "root_folder_path",
    value: "/other",
  });
  expect(replaced.results).toHaveLength(2);
  const { revision } = await admin.mounts.listMounts({});
  await admin.mounts.saveMounts({ mounts: [{ name: "/copy", members: { order: 9 } }] });
  const back = await admin.settings.rollback({ to: revision, only: ["/copy"] });
  expect(back.results).toMatchObject([{ key: "mount:Café", outcome: "changed" }]);
  const url = `http://127.0.0.1:${service.port}/api/admin/mount/get?name=${encodeURIComponent("/本机存储")}`;
  const reply = await fetch(url, { headers: { authorization: TOKEN } });
  expect(await reply.json()).toMatchObject({ code: 200, data: { name: "本机" } });
  await admin.mounts.deleteMounts({ names: ["/copy", "/本机存储"] });
  expect((await admin.mounts.listMounts({})).mounts).toEqual([]);
});

test("a path of no mount is not found, and creates none", async () => {
  await expect(nameOf("/nothing")).rejects.toMatchObject({ code: Code.NotFound });
  await expect(
    admin.mounts.saveMounts({ mounts: [local("/new", "/srv", { mountPath: "/new" })] }),
  ).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test("a path that several mounts have on different sites is refused with their names", async () => {
  const sites = ["a", "b"];
  for (const [at, { url, token }] of [one, two].entries())
    await admin.sites.createSite({ site: { name: sites[at] ?? "", url, token: token() } });
  await admin.mounts.saveMounts({
    mounts: sites.map((name) =>
      local(`on-${name}`, "/srv", { mountPath: "/same", sites: { names: [name] } }),
    ),
  });
  await expect(nameOf("/same")).rejects.toThrow("several mounts have this path: on-a, on-b");
  expect(await nameOf("on-a")).toBe("on-a");
});

test.each(["本机存储", "фильмы", "संगीत", "a.b_c-9", "é", "9"])("%s is a name", async (name) => {
  const made = await admin.mounts.saveMounts({
    mounts: [local(name, "/srv", { mountPath: `/names/${name}` })],
    dryRun: true,
  });
  expect(made.results).toMatchObject([{ name, outcome: "created" }]);
});

test.each([
  "",
  "-a",
  "a b",
  "a/b",
  "a:b",
  "a@b",
  "存\u200b储",
  "长".repeat(65),
  "\u0301",
  "a\u0000",
  "🎬",
])("%j is no name", async (name) => {
  const mounts = [local(name, "/srv", { mountPath: "/names/x" })];
  await expect(admin.mounts.saveMounts({ mounts, dryRun: true })).rejects.toMatchObject({
    code: Code.InvalidArgument,
  });
});
