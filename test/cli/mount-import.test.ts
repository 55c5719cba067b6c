import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { beforeAll, describe, expect, test } from "vitest";
import { encrypt } from "../archive/page-encryption.ts";
import { service, useService } from "./service.ts";

useService();

const inFolder = (name: string) => join(service.folder, name);
const mount = (...args: string[]) => service.cli(["mount", ...args]);

const row = (path: string, more: object = {}) => ({
  id: 7,
  mount_path: path,
  order: 3,
  driver: "WebDav",
  cache_expiration: -1,
  status: "work",
  addition: JSON.stringify({ vendor: "other", address: "https://dav.example", password: "pw-9" }),
  remark: "",
  modified: "2026-01-02T03:04:05Z",
  disabled: false,
  web_proxy: true,
  webdav_policy: "native_proxy",
  ...more,
});

const backup = (path: string) => ({
  encrypted: "",
  settings: [{ key: "site_title", value: "Harbour", type: "string", group: 1, flag: 0 }],
  users: [{ id: 1, username: "admin" }],
  storages: [row(path)],
  metas: [],
});

/** The same backup as the page writes it with a password. */
function encrypted(path: string, password: string) {
  const plain = backup(path);
  const member = (value: unknown) => encrypt(JSON.stringify(value), password);
  const all = (entries: readonly object[]) =>
    entries.map((entry) =>
      Object.fromEntries(Object.entries(entry).map(([name, value]) => [name, member(value)])),
    );
  return {
    encrypted: member("encrypted"),
    settings: all(plain.settings),
    users: all(plain.users),
    storages: all(plain.storages),
    metas: [],
  };
}

/** The database of a server, with its table of storages. */
function database(path: string): void {
  const handle = new SQLite(path);
  handle.exec(
    `create table x_setting_items (key text primary key, value text, help text, type text, options text, "group" integer, flag integer, "index" integer);
     insert into x_setting_items values ('site_title', 'Harbour', '', 'string', '', 1, 0, 0);
     create table x_storages (id integer primary key, mount_path text, "order" integer, driver text, cache_expiration integer, status text, addition text, remark text, modified datetime, disabled numeric, web_proxy numeric, webdav_policy text)`,
  );
  const { addition } = row("/db");
  handle
    .prepare(
      "insert into x_storages values (7, '/db', 3, 'WebDav', -1, 'work', ?, '', '2026-01-02', 0, 1, 'native_proxy')",
    )
    .run(addition);
  handle.close();
}

beforeAll(async () => {
  await writeFile(inFolder("passphrase"), "correct horse");
  await writeFile(inFolder("plain.json"), JSON.stringify(backup("/plain")));
  await writeFile(inFolder("sealed.json"), JSON.stringify(encrypted("/sealed", "correct horse")));
  await writeFile(
    inFolder("list.json"),
    JSON.stringify({ code: 200, message: "success", data: { content: [row("/list")], total: 1 } }),
  );
  await writeFile(
    inFolder("rows.json"),
    JSON.stringify([row("/rows", { disabled: 0, web_proxy: 1 })]),
  );
  database(inFolder("data.db"));
});

describe("mount import", () => {
  test.each([
    ["a backup of a server's page", ["plain.json"], "plain"],
    ["an encrypted one", ["sealed.json", "--passphrase-file", "passphrase"], "sealed"],
    ["a reply of storage/list", ["list.json"], "list"],
    ["rows of sqlite3 -json", ["rows.json"], "rows"],
    ["the database of a server", ["data.db"], "db"],
    ["a table of it", ["data.db", "--table", "x_storages"], "db"],
  ])("reads %s", async (_name, args, name) => {
    const read = await mount("import", ...args);
    expect(read).toMatchObject({ code: 0, err: "" });
    if (args[1] !== "--table")
      expect(read.out).toMatch(new RegExp(`^mounts +${name} +created +taken as it is: `, "m"));
    const shown = await mount("get", name, "--reveal", "--json");
    expect(JSON.parse(shown.out).mount).toMatchObject({
      mount_path: `/${name}`,
      config: { address: "https://dav.example", password: "pw-9" },
      members: { order: 3, cache_expiration: -1, web_proxy: true },
    });
  });

  test.each([
    ["a missing passphrase", ["sealed.json"], "give the password"],
    ["a wrong passphrase", ["sealed.json", "--passphrase-file", "rows.json"], "wrong"],
    ["a table of JSON", ["rows.json", "--table", "x"], "requires a database"],
    ["an unknown table", ["data.db", "--table", "x_metas"], "no table x_metas"],
  ])("reports %s", async (_name, args, text) => {
    const refused = await mount("import", ...args);
    expect(refused.code).toBeGreaterThan(0);
    expect(refused.err).toContain(text);
  });

  test("exits with 4 and names what is not kept, unless that is accepted", async () => {
    const rows = [row("/kept"), row("/lossy", { colour: "red" }), { driver: "Local" }];
    await writeFile(inFolder("lossy.json"), JSON.stringify(rows));
    const dry = await mount("import", "lossy.json", "--dry-run");
    expect(dry.code).toBe(4);
    const read = await mount("import", "lossy.json");
    expect(read.code).toBe(4);
    expect(read.out).toMatch(/^mounts +lossy +created .*; not kept: colour$/m);
    expect(read.out).toMatch(/^mounts +row 3 +skipped +is not a mount: it has no mount_path$/m);
    expect(read.err).toContain(
      "not imported as in the file: mounts lossy, mounts row 3 (--accept-loss: exit with 0)",
    );
    expect((await mount("get", "lossy")).code).toBe(0);
    const accepted = await mount("import", "lossy.json", "--accept-loss");
    expect(accepted).toMatchObject({ code: 0, err: "" });
    const json = await mount("import", "lossy.json", "--json");
    expect(json.code).toBe(4);
    expect(JSON.parse(json.out).results[1]).toMatchObject({ name: "lossy", left_out: ["colour"] });
  });

  test("of an export into an empty service restores every mount", async () => {
    await mount(
      "create",
      "mus",
      "/music",
      "Local",
      "root_folder_path=/srv",
      "remark=all",
      "disabled=true",
    );
    expect((await mount("export", "mus", "--output", "mus.json")).code).toBe(0);
    const before = JSON.parse((await mount("get", "mus", "--json")).out).mount;
    await mount("delete", "mus", "--yes");
    expect(await mount("import", "mus.json")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^mounts +mus +created$/m),
    });
    const after = JSON.parse((await mount("get", "mus", "--json")).out).mount;
    expect({ ...after, revision: 0, etag: "" }).toEqual({ ...before, revision: 0, etag: "" });
  });
});

describe("import of the whole site", () => {
  test("reads settings and mounts from the same files, and names the users that it leaves out", async () => {
    for (const args of [["plain.json"], ["sealed.json", "--passphrase-file", "passphrase"]]) {
      const read = await service.cli(["import", ...args, "--dry-run"]);
      expect(read.code).toBe(4);
      expect(read.out).toMatch(/^settings +site_title +changed$/m);
      expect(read.out).toMatch(/^users +1 +skipped +not kept by Mooring: 1 in the file/m);
      expect(read.out).toMatch(/: 0 created, 1 changed, 1 unchanged, 0 skipped$/m);
    }
    const read = await service.cli(["import", "data.db", "--dry-run"]);
    expect(read).toMatchObject({ code: 0 });
    expect(read.out).toMatch(/: 0 created, 1 changed, 1 unchanged, 0 skipped$/m);
  });
});

describe("a file with many storages", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, at) =>
      row(`/many/${at}`, { driver: "Local", addition: "{}" }),
    );

  test("is imported up to 10,000 rows, and refused with their number", async () => {
    await writeFile(inFolder("many.json"), JSON.stringify({ storages: many(9_000) }));
    const read = await mount("import", "many.json", "--dry-run");
    expect(read).toMatchObject({ code: 0, err: "mooring: nothing was changed\n" });
    expect(read.out.split("\n")).toHaveLength(9_003);
    await writeFile(inFolder("more.json"), JSON.stringify({ storages: many(10_001) }));
    const refused = await mount("import", "more.json", "--dry-run");
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("has 10001 mounts; the limit is 10000");
  });

  test("does not keep its settings from being imported", async () => {
    const file = { ...backup("/x"), storages: many(10_000) };
    await writeFile(inFolder("both.json"), JSON.stringify(file));
    const read = await service.cli(["import", "both.json", "--only", "settings", "--dry-run"]);
    expect(read).toMatchObject({ code: 0 });
    expect(read.out).toMatch(/: 0 created, 1 changed, 0 unchanged, 0 skipped$/m);
  });
});

describe("import", () => {
  const meta = { path: "", password: "pw-of-a-folder", p_sub: 1, hide: "", readme: "" };

  test.each([
    ["a backup of a server's page", "page-metas.json", []],
    ["an encrypted one", "sealed-metas.json", ["--passphrase-file", "passphrase"]],
    ["the database of a server", "metas.db", []],
  ])("reads the folder rules of %s", async (_name, file, flags) => {
    const path = `/${file}`;
    const sealed = encrypted("/unused", "correct horse");
    const all = { ...meta, path, p_sub: true };
    const members = Object.entries(all).map(([name, value]) => [
      name,
      encrypt(JSON.stringify(value), "correct horse"),
    ]);
    if (file === "page-metas.json")
      await writeFile(inFolder(file), JSON.stringify({ ...backup("/unused"), metas: [all] }));
    else if (file === "sealed-metas.json")
      await writeFile(
        inFolder(file),
        JSON.stringify({ ...sealed, metas: [Object.fromEntries(members)] }),
      );
    else {
      database(inFolder(file));
      const handle = new SQLite(inFolder(file));
      handle.exec(
        "create table x_meta (id integer primary key, path text, password text, p_sub numeric, hide text, readme text)",
      );
      handle.prepare("insert into x_meta values (1, ?, ?, 1, '', '')").run(path, meta.password);
      handle.close();
    }
    const read = await service.cli(["import", file, ...flags, "--only", "rules", "--yes"]);
    expect(read.out).toMatch(new RegExp(`^rules +${path} +created`, "m"));
    const shown = await service.cli(["rule", "get", path, "--reveal", "--json"]);
    expect(shown.out).toContain("pw-of-a-folder");
  });
});
