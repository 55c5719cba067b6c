import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { startWholeSite } from "../mounts/whole-site.ts";
import { startedForAll } from "../started.ts";
import { cli, service, useService } from "./service.ts";

useService();
const home = startedForAll(startWholeSite);
const pier = startedForAll(startWholeSite);

const terminal = (...answers: string[]) => ({ terminal: 80, answers });

beforeEach(async () => {
  if ((await cli(["site", "check", "home"])).code !== 0) {
    for (const [name, { url, token }] of Object.entries({ home, pier })) {
      await writeFile(join(service.folder, `${name}.token`), token());
      await cli(["site", "add", name, url, "--site-token-file", `${name}.token`]);
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
    expect(dry.out).toBe(
      "rest: changed (from now on it is on no site)\ndry run: home would be removed\n",
    );
    expect((await cli(["mount", "list", "--site", "home"])).out).toContain("rest");
  });
});
