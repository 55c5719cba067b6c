import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { addSite, cli, service, useService } from "./service.ts";

useService();
const home = startedForAll(startWholeSite);
const pier = startedForAll(startWholeSite);

const terminal = (...answers: string[]) => ({ terminal: 80, answers });

beforeEach(async () => {
  if ((await cli(["site", "check", "home"])).code !== 0) {
    for (const [name, site] of Object.entries({ home, pier })) {
      await addSite(name, site);
      await cli(["site", "sync", name, "--yes"]);
    }
    await cli(["site", "set", "home", "mode=follow"]);
  }
  await cli(["mount", "create", "rest", "/rest", "Local", "root_folder_path=/srv", "sites=home"]);
  await cli(["mount", "set", "rest", "sites=home", "disabled=false", "--yes"]);
  await expect.poll(() => home.storages.row("/rest")?.status).toBe("work");
});

describe("a change that removes or disables a mount of a running server", () => {
  test("with an unknown site is refused with the nearest name, in every command", async () => {
    for (const args of [
      ["mount", "set", "rest", "sites=hoem"],
      ["mount", "set", "rest", "sites=hoem", "--dry-run"],
      ["mount", "set", "rest", "root_folder_path@hoem=/x", "--yes"],
    ]) {
      const { code, err } = await cli(args);
      expect(code).toBe(4);
      expect(err).toContain('there is no site "hoem". Did you mean "home"?');
    }
    for (const args of [
      ["mount", "list", "--site", "hoem"],
      ["mount", "export", "--site", "hoem"],
      ["mount", "compare", "hoem"],
      ["mount", "sync", "hoem"],
      ["incident", "list", "--site", "hoem"],
    ]) {
      const { code, err } = await cli(args);
      expect(code).toBe(3);
      expect(err).toContain('there is no site "hoem". Did you mean "home"?');
    }
    expect(home.storages.row("/rest")).toMatchObject({ status: "work", disabled: false });
  });

  test.each([
    [["set", "rest", "sites=pier"], "/rest is removed"],
    [["set", "rest", "sites=none"], "/rest is removed"],
    [["set", "rest", "disabled=true"], "/rest is disabled"],
    [["delete", "rest"], "/rest is removed"],
  ])(
    "is refused without a terminal and --yes, and said by a dry run: mount %j",
    async (args, effect) => {
      const dry = await cli(["mount", ...args, "--dry-run"]);
      expect(dry).toMatchObject({ code: 0, err: "mooring: nothing was changed\n" });
      expect(dry.out).toContain(`\n  on home, ${effect}\n`);
      const refused = await cli(["mount", ...args]);
      expect(refused).toMatchObject({ code: 4, out: "" });
      expect(refused.err).toContain("nothing was changed: 1 mount of running servers");
      expect(refused.err).toContain(`on home, ${effect}`);
      const { code } = await cli(["mount", ...args], terminal("n"));
      expect(code).toBe(1);
      expect(home.storages.row("/rest")).toMatchObject({ status: "work", disabled: false });
    },
  );

  test("is made after a yes in the terminal, or with --yes", async () => {
    const asked = await cli(["mount", "set", "rest", "disabled=true"], terminal("y"));
    expect(asked).toMatchObject({ code: 0 });
    expect(asked.err).toContain("on home, /rest is disabled");
    await expect.poll(() => home.storages.row("/rest")?.disabled).toBe(true);
    const done = await cli(["mount", "set", "rest", "sites=pier", "--yes"]);
    expect(done.out).toBe("rest: changed (sites)\n  on home, /rest is removed\n");
    await expect.poll(() => home.storages.row("/rest")).toBeUndefined();
  });

  test("is asked for as well when it only interrupts a mount, and needs no --yes without a terminal", async () => {
    const asked = await cli(["mount", "set", "rest", "remark=x"], terminal("n"));
    expect(asked).toMatchObject({ code: 1, out: "" });
    expect(asked.err).toContain("on home, /rest is mounted again");
    const set = await cli(["mount", "set", "rest", "remark=x"]);
    expect(set.out).toBe("rest: changed (remark)\n  on home, /rest is mounted again\n");
  });

  test("is refused and asked for in the same way by a rollback, with the settings", async () => {
    await cli(["set", "site_title=Before"]);
    const before = String(await service.newest());
    await cli(["set", "site_title=After"]);
    await cli(["mount", "create", "new", "/new", "Local", "root_folder_path=/srv", "sites=home"]);
    await cli(["mount", "set", "rest", "remark=after", "--yes"]);
    await expect.poll(() => home.storages.row("/new")?.status).toBe("work");
    const refused = await cli(["rollback", before]);
    expect(refused).toMatchObject({ code: 4, out: "" });
    expect(refused.err).toContain("1 mount of running servers would be removed or disabled");
    expect(refused.err).toContain("on home, /new is removed");
    const dry = await cli(["rollback", before, "--dry-run"]);
    expect(dry.out).toContain("on home, /new is removed\non home, /rest is mounted again\n");
    expect(dry.out).toMatch(/dry run: 1 setting, 2 mounts would change\n$/);
    const asked = await cli(["rollback", before], terminal("n"));
    expect(asked).toMatchObject({ code: 1, out: "" });
    expect(asked.err).toMatch(/mount:rest +changed\n +members.remark +after /);
    expect(asked.err).toContain("on home, /new is removed");
    expect(asked.err).toContain(`Restore 1 setting, 2 mounts to revision ${before}?`);
    expect((await cli(["get", "site_title"])).out).toBe("After\n");
    const one = await cli(["rollback", before, "--only", "rest", "--only", "site_title"]);
    expect(one).toMatchObject({ code: 0, err: "" });
    expect(one.out).toContain("restored 1 setting, 1 mount: revision");
    expect((await cli(["mount", "get", "new"])).code).toBe(0);
    const done = await cli(["rollback", before, "--only", "mounts", "--yes"]);
    expect(done.out).toContain("restored 1 mount: revision");
    await expect.poll(() => home.storages.row("/new")).toBeUndefined();
  });

  test("is named by a rollback of the database file, without a service", async () => {
    await cli(["set", "site_title=Before"]);
    const before = String(await service.newest());
    const dav = ["address=https://dav.example", "username=ann", "password=secret-of-dav"];
    await cli(["set", "site_title=After"]);
    await cli(["mount", "create", "dav", "/dav", "WebDav", ...dav, "sites=home"]);
    await expect.poll(() => home.storages.row("/dav")?.status).toBe("work");
    const added = String(await service.newest());
    await service.stop();
    const offline = (...args: string[]) =>
      cli(["rollback", ...args, "--database", service.database]);
    try {
      const dry = await offline(before, "--dry-run");
      expect(dry.out).toContain("on home, /dav is removed");
      expect(dry.out).not.toContain("secret-of-dav");
      const back = await offline(before, "--yes");
      expect(back).toMatchObject({ code: 0 });
      expect(back.out).toContain("restored 1 setting, 1 mount: revision");
      const again = await offline(added, "--only", "dav", "--yes");
      expect(again.out).toContain("mount:dav: config.password: the history keeps no secrets");
      expect(again.err).toContain("not restored, or not as a whole: mount:dav");
      expect(again.code).toBe(4);
      expect((await offline(before, "--yes", "--accept-loss")).code).toBe(0);
    } finally {
      await service.start();
    }
    await expect.poll(() => home.storages.row("/dav")).toBeUndefined();
  });

  test.each([
    ["import", "plain.json"],
    ["apply", "plain.yaml"],
  ])("is named and refused by %s of the database file", async (command, file) => {
    const mount = { name: "rest", path: "/rest", driver: "Local", disabled: true, sites: ["home"] };
    const config = { root_folder_path: "/srv" };
    const archive = { format: "mooring-archive", version: 1, mounts: [{ ...mount, config }] };
    const { name: _, ...declared } = { ...mount, config };
    await writeFile(join(service.folder, "plain.json"), JSON.stringify(archive));
    await writeFile(
      join(service.folder, "plain.yaml"),
      JSON.stringify({ version: 1, mounts: { rest: declared } }),
    );
    for (const where of [[], ["--database", service.database]]) {
      const preview = command === "apply" ? ["plan", file] : [command, file, "--dry-run"];
      const dry = await cli([...preview, ...where]);
      expect(dry.out + dry.err).toContain("on home, /rest is disabled");
      const refused = await cli([command, file, ...where]);
      expect(refused).toMatchObject({ code: 4 });
      expect(refused.err).toContain("on home, /rest is disabled");
    }
    expect(home.storages.row("/rest")).toMatchObject({ status: "work", disabled: false });
  });

  test("is refused when a site would begin to follow", async () => {
    await cli(["site", "set", "home", "mode=observe"]);
    await cli(["mount", "set", "rest", "sites=pier"]);
    await expect
      .poll(async () => (await cli(["site", "set", "home", "mode=follow", "--dry-run"])).err)
      .toContain("on home, /rest is removed");
    const refused = await cli(["site", "set", "home", "mode=follow"]);
    expect(refused).toMatchObject({ code: 4, out: "" });
    expect((await cli(["site", "set", "home", "mode=follow", "--yes"])).code).toBe(0);
  });

  test("is not the removal of a site, which says where its mounts stay", async () => {
    const dry = await cli(["site", "remove", "home", "--dry-run"]);
    expect(dry.out).toBe("rest: changed (it is on no site now)\ndry run: home would be removed\n");
    expect((await cli(["mount", "list", "--site", "home"])).out).toContain("rest");
  });
});
