import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { addSite, service, useService } from "./service.ts";

useService();

const harbour = startedForAll(startWholeSite);
const quay = startedForAll(startWholeSite);

beforeAll(async () => {
  for (const [path, root] of [
    ["/films", "/srv/films"],
    ["/books", "/srv/books"],
  ])
    await fetch(`${harbour.url}/api/admin/storage/create`, {
      method: "POST",
      headers: { authorization: harbour.token() },
      body: JSON.stringify({
        mount_path: path,
        driver: "Local",
        webdav_policy: "native_proxy",
        addition: JSON.stringify({ root_folder_path: root }),
      }),
    });
});

const mount = (...args: string[]) => service.cli(["mount", ...args]);
const site = (...args: string[]) => service.cli(["site", ...args]);

test("a server is cloned by the commands of docs/mounts.md", async () => {
  expect(await mount("list")).toMatchObject({ code: 0, out: "" });
  await addSite("harbour", harbour);
  const dry = await mount("adopt", "harbour", "--dry-run");
  expect(dry.out).toBe("films: created\nbooks: created\n");
  expect((await mount("list")).out).toBe("");
  expect((await mount("adopt", "harbour", "--yes")).out).toBe("films: created\nbooks: created\n");
  await addSite("quay", quay);
  expect((await mount("set", "films", "sites=all")).out).toBe("films: changed (sites)\n");
  const own = await mount("set", "films", "root_folder_path@quay=/mnt/films");
  expect(own.out).toBe("films: changed (overrides.quay)\n");
  expect((await mount("compare", "quay")).out).toBe("films: created\n");
  expect(await mount("sync", "quay", "--yes")).toMatchObject({ code: 0, out: "quay: 1 ok\n" });
  expect(quay.storages.addition("/films")["root_folder_path"]).toBe("/mnt/films");
  expect(quay.storages.row("/books")).toBeUndefined();
  const list = await mount("list");
  expect(list.out).toMatch(/^books +\/books +Local +harbour +ok$/m);
  expect(list.out).toMatch(/^films +\/films +Local +all +/m);
  expect((await mount("list", "--site", "quay")).out).not.toContain("books");
});

test("a failing mount is shown, tested and mounted again by the commands of docs/mounts.md", async () => {
  harbour.storages.folders.set("/films", ["a.mkv", "series/"]);
  expect(await mount("test", "films", "--site", "harbour")).toMatchObject({
    code: 0,
    out: "films on harbour (/films): works (2 entries)\n  a.mkv\n  series/\n",
  });
  harbour.storages.folders.set("/films", "object not found");
  const failed = await mount("test", "--all");
  expect(failed.code).toBe(4);
  expect(failed.out).toMatch(/^films on harbour \(\/films\): fails \(.*object not found\)$/m);
  expect(failed.out).toMatch(/^books on harbour \(\/books\): works \(0 entries\)$/m);
  expect(failed.err).toContain("1 of 3 mounts does not work");
  expect((await mount("list")).out).toMatch(/films +.*harbour: failing \(.*object not found/);
  const shown = (await mount("get", "films")).out;
  expect(shown).toMatch(/^on harbour +failing \(.*object not found\), since \d/m);
  expect(shown).toMatch(/values agree, read \d.*, listed \d/);
  expect(shown).toContain('"mooring mount sync harbour films"');
  expect((await site("list")).out).toMatch(/^harbour +observe +failing .*mounts: 1 failing$/m);
  const still = await mount("sync", "harbour", "films", "--yes");
  expect(still).toMatchObject({ code: 4 });
  expect(still.out).toMatch(/^harbour: 1 failing \(.*object not found\)$/m);
  expect(still.err).toContain("some mounts do not work on the site");
  harbour.storages.folders.delete("/films");
  expect(await mount("sync", "harbour", "films", "--yes")).toMatchObject({
    code: 0,
    out: "harbour: 1 ok\n",
  });
  expect(await mount("test")).toMatchObject({ code: 2 });
  expect(await mount("test", "films", "--all")).toMatchObject({ code: 2 });
  expect((await service.cli(["incident", "list"])).err).toContain("listed at their providers");
});

test("a mount is created, shown, changed, copied, renamed and deleted", async () => {
  await writeFile(join(service.folder, "password"), "dav-secret-1\n");
  const values = ["address=https://dav.example", "username=ann", "password=@password"];
  const made = await mount("create", "dav", "/dav", "WebDav", ...values, "order=4", "sites=quay");
  expect(made).toMatchObject({ code: 0, out: "dav: created\n" });
  const shown = await mount("get", "dav");
  expect(shown.out).toMatch(/^password +\*{8}$/m);
  expect(shown.out).toMatch(/^order +4$/m);
  expect(shown.out).not.toContain("dav-secret-1");
  expect((await mount("get", "dav", "--reveal")).out).toMatch(/^password +dav-secret-1$/m);
  expect((await mount("set", "dav", "order", "disabled=true", "--dry-run")).out).toBe(
    "dav: changed (disabled, order)\n",
  );
  await writeFile(join(service.folder, "password"), "dav-secret-2\n");
  expect((await mount("replace", "dav", "password=@password")).out).toBe(
    "dav: changed (password)\n",
  );
  expect((await mount("copy", "dav", "dav2", "/dav2")).out).toBe("dav2: created\n");
  expect((await mount("rename", "dav2", "copy")).out).toBe("dav2: has the name copy now\n");
  expect(await mount("delete", "films-*", "--yes")).toMatchObject({
    code: 3,
    err: expect.stringContaining('no mount matches "films-*"'),
  });
  const dry = await mount("delete", "d*v", "/dav2*", "--dry-run");
  expect(dry.err).toContain("the patterns match: dav, copy");
  expect((await mount("list", "--json")).out).toContain('"copy"');
  expect((await mount("delete", "co*", "dav", "--yes")).out).toBe("copy: deleted\ndav: deleted\n");
  expect((await mount("get", "dav")).err).toContain('there is no mount "dav"');
});

test("mounts are exported, imported and rolled back", async () => {
  const file = join(service.folder, "mounts.json");
  expect((await mount("export", "--output", "mounts.json")).code).toBe(0);
  const { mounts } = JSON.parse(await readFile(file, "utf8"));
  expect(mounts.map(({ path }: { path: string }) => path)).toEqual(["/books", "/films"]);
  const rows = await mount("export", "/films", "--site", "harbour");
  expect(JSON.parse(rows.out).storages).toMatchObject([{ mount_path: "/films" }]);
  const { revision } = JSON.parse((await mount("list", "--json")).out);
  expect(revision).toBeDefined();
  await mount("delete", "books", "--yes");
  const before = JSON.parse((await service.cli(["history", "--json", "-n", "1"])).out);
  const number = Number(before.revisions[0].revision) - 1;
  const back = await service.cli(["rollback", String(number), "--only", "mounts"]);
  expect(back.out).toMatch(/^mount:books +– +added$/m);
  expect(back.out).toContain("restored 1 mount: revision");
  await mount("delete", "books", "--yes");
  const again = await mount("import", "mounts.json", "--dry-run");
  expect(again.out).toMatch(/^mounts +books +created$/m);
  await writeFile(
    join(service.folder, "storages.json"),
    JSON.stringify([{ mount_path: "/x", driver: "Local", addition: { root_folder_path: "/x" } }]),
  );
  const unchosen = await mount("import", "storages.json", "--dry-run");
  expect(unchosen).toMatchObject({ code: 4, out: "" });
  expect(unchosen.err).toContain("sites must be chosen, because there are several sites");
  const chosen = await mount("import", "storages.json", "--site", "none", "--dry-run");
  expect(chosen.out).toMatch(/^mounts +x +created$/m);
});

test("a mount is named by its path, and has a readable name in any script", async () => {
  await writeFile(
    join(service.folder, "local.json"),
    JSON.stringify([{ mount_path: "/本机存储", driver: "Local", addition: "{}" }]),
  );
  expect((await mount("import", "local.json", "--site", "none")).out).toMatch(
    /^mounts +本机存储 +created/m,
  );
  expect((await mount("get", "/本机存储")).out).toMatch(/^name +本机存储$/m);
  expect((await mount("set", "/本机存储", "remark=x")).out).toBe("本机存储: changed (remark)\n");
  expect((await mount("delete", "/本机存储", "--yes")).code).toBe(0);
  expect((await mount("get", "本机存储")).code).toBe(3);
});

test("wrong values are named as they are given", async () => {
  const wrong = await mount("create", "w", "/w", "Local", "sites=all", "order=x", "thumbnail=y");
  expect(wrong).toMatchObject({ code: 4 });
  expect(wrong.err).toMatch(/^ {2}order must be a whole number/m);
  expect(wrong.err).toMatch(/^ {2}thumbnail must be true or false/m);
  const unknown = await mount("create", "w", "/w", "Local", "sites=harbor");
  expect(unknown.err).toMatch(/mount: sites: there is no site "harbor".*"harbour"/);
  const own = await mount("create", "w", "/w", "Local", "sites=all", "thumbnail@quay=y");
  expect(own.err).toMatch(/mount: thumbnail@quay must be true or false/);
});

test("a change of a mount that does not exist says so, with the nearest name", async () => {
  for (const args of [
    ["set", "film"],
    ["set", "film", "order=1"],
    ["get", "film"],
    ["copy", "film", "other", "/other"],
    ["rename", "film", "other"],
    ["replace", "film", "order=1"],
    ["delete", "film", "--yes"],
    ["test", "film"],
    ["sync", "harbour", "film", "--yes"],
    ["export", "film"],
  ])
    expect(await mount(...args), args.join(" ")).toMatchObject({
      code: 3,
      err: expect.stringMatching(/"film".*"films"/),
    });
  expect(await mount("set", "films")).toMatchObject({
    code: 2,
    err: expect.stringContaining("mount set: ITEM=VALUE is missing"),
  });
});

test("all and none are no names of sites", async () => {
  for (const sites of ["all,harbour", "harbour,none"])
    expect(await mount("set", "films", `sites=${sites}`)).toMatchObject({
      code: 4,
      err: expect.stringMatching(/sites: (all|none) cannot be combined/),
    });
  for (const name of ["all", "none", "All"])
    expect(await site("set", "quay", `name=${name}`)).toMatchObject({
      code: 4,
      err: expect.stringContaining("must not be all or none"),
    });
});

test("a sync of a site without mounts says so", async () => {
  const { out } = await mount("list", "--site", "quay");
  const names = out
    .split("\n")
    .slice(1, -1)
    .map((line) => line.split(" ")[0] ?? "");
  for (const name of names) await mount("set", name, "sites=harbour", "--yes");
  expect(await mount("sync", "quay", "--yes")).toMatchObject({
    code: 0,
    out: "",
    err: expect.stringContaining("no mount is assigned to quay"),
  });
});

test("invalid commands are reported", async () => {
  expect((await mount("set", "films", "sites=harbour,")).err).toContain("name of a site is empty");
  expect((await mount("set", "films", "sites=")).err).toContain("name of a site is empty");
  expect((await mount("create", "a", "/a", "Lokal")).err).toContain('Did you mean "Local"?');
  expect((await mount("create", "a", "/a", "Local", "rot_folder_path=/x")).err).toContain(
    "did you mean root_folder_path?",
  );
  expect((await mount("create", "a", "/a", "S3")).err).toContain("bucket");
  expect((await mount("set", "films", "disabled=maybe")).err).toContain("true or false");
  expect((await mount("lst")).err).toContain("did you mean mount list?");
  expect((await mount("rollback", "3", "films")).err).toContain("mooring rollback 3 --only mounts");
});

test.each([
  [["films", "path=/films", "driver=Local"], "PATH and DRIVER"],
  [["films", "/films", "root_folder_path=/x"], "DRIVER"],
  [["films", "root_folder_path=/x", "Local"], "PATH"],
])("create %j names what is missing", async (words, missing) => {
  const { code, err } = await mount("create", ...words);
  expect(code).toBe(2);
  expect(err).toContain(`before the members, ${missing} must be given`);
});

test("set of an unknown mount names the command that creates one", async () => {
  const { code, err } = await mount("set", "nosuch", "disabled=true");
  expect(code).toBe(3);
  expect(err).toContain("mooring mount create NAME PATH DRIVER");
});
