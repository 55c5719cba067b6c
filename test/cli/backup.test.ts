import { existsSync } from "node:fs";
import { readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import SQLite from "better-sqlite3";
import { beforeEach, describe, expect, test } from "vitest";
import { cli, service, TOKEN, useService } from "./service.ts";

useService();
beforeEach(async () => {
  await cli(["unset", "site_title", "aria2_secret"]);
  for (const name of ["site.json", "sealed.json"]) await rm(inFolder(name), { force: true });
});

const inFolder = (name: string) => join(service.folder, name);
const readJson = async (name: string) => JSON.parse(await readFile(inFolder(name), "utf8"));

describe("export", () => {
  test("writes a file with mode 0600, without secrets", async () => {
    const { code, out } = await cli(["export", "site.json"]);
    expect(code).toBe(0);
    expect(out).toMatch(
      /^exported 0 sites, \d+ settings, 0 mounts, 0 folder rules, 0 webhooks, 0 principals of revision \d+ to site\.json; secrets are omitted\n$/,
    );
    expect((await stat(inFolder("site.json"))).mode & 0o777).toBe(0o600);
    const text = await readFile(inFolder("site.json"), "utf8");
    expect(text).not.toContain(TOKEN);
    expect(JSON.parse(text)).toMatchObject({ format: "mooring-archive" });
  });

  test("writes to standard output without a FILE", async () => {
    const own = async (...flags: string[]) => {
      const { out } = await cli(["export", "--secrets", "clear", ...flags]);
      const { settings, leftOut } = JSON.parse(out);
      const token = settings.find(({ key }: { key: string }) => key === "token");
      return { secrets: token?.secrets, leftOut };
    };
    const names = ["version", "token", "index_progress"].sort();
    const { leftOut, ...without } = await own();
    expect(without).toEqual({ secrets: undefined });
    expect(leftOut).toEqual([{ part: "settings", names: expect.any(Array) }]);
    expect([...leftOut[0].names].sort()).toEqual(
      names.filter((name) => leftOut[0].names.includes(name)),
    );
    expect(leftOut[0].names).toContain("token");
    expect(await own("--include-server-own")).toEqual({ secrets: { value: TOKEN }, leftOut: [] });
  });

  test("replaces a file only with --force, and leaves no other file", async () => {
    await writeFile(inFolder("site.json"), "precious");
    const refused = await cli(["export", "site.json"]);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("--force");
    expect(await readFile(inFolder("site.json"), "utf8")).toBe("precious");
    expect((await cli(["export", "site.json", "--force"])).code).toBe(0);
    expect(await readJson("site.json")).toMatchObject({ format: "mooring-archive" });
    expect((await readdir(service.folder)).filter((name) => name.includes(".tmp"))).toEqual([]);
  });

  test("reports a missing folder of FILE", async () => {
    const { code, err } = await cli(["export", "no/such/folder/site.json"]);
    expect(code).toBe(3);
    expect(err).toContain("can't be written");
  });

  test("prints a summary as JSON with --json", async () => {
    const { out } = await cli(["export", "site.json", "--json"]);
    expect(JSON.parse(out)).toEqual({
      file: "site.json",
      revision: expect.stringMatching(/^\d+$/),
      counts: {
        sites: 0,
        settings: expect.any(Number),
        mounts: 0,
        rules: 0,
        webhooks: 0,
        principals: 0,
      },
      secrets: "omit",
      leftOut: [{ part: "settings", names: expect.arrayContaining(["token"]) }],
    });
  });

  test.each([
    [["--secrets", "all"], 2, "is not one of omit, seal, clear"],
    [["--secrets", "seal"], 2, "needs a passphrase"],
    [["--passphrase-file", "x"], 2, "requires --secrets seal"],
    [["--force"], 2, "requires a file"],
  ])("%j ends with %i", async (flags, code, reason) => {
    const ended = await cli(["export", ...flags]);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(reason);
  });
});

describe("a sealed export", () => {
  test("is opened with the passphrase of a file", async () => {
    await writeFile(inFolder("passphrase"), "correct horse\n");
    await cli(["set", "aria2_secret=hush"]);
    const sealing = ["--secrets", "seal", "--passphrase-file", "passphrase"];
    expect((await cli(["export", "sealed.json", ...sealing])).code).toBe(0);
    expect(await readFile(inFolder("sealed.json"), "utf8")).not.toContain("hush");
    await cli(["set", "aria2_secret="]);
    const { code, out } = await cli(["import", "sealed.json"], {
      env: { MOORING_PASSPHRASE: "correct horse" },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/aria2_secret +changed/);
    expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("hush\n");
  });

  test("prompts on a terminal, twice to seal and once to open, without echo", async () => {
    const sealed = await cli(["export", "sealed.json", "--secrets", "seal"], {
      terminal: 80,
      answers: ["correct horse", "correct horse"],
    });
    expect(sealed.code).toBe(0);
    const opened = await cli(["import", "sealed.json", "--dry-run"], {
      terminal: 80,
      answers: ["correct horse"],
    });
    expect(opened.code).toBe(0);
    expect(`${sealed.out}${sealed.err}${opened.out}${opened.err}`).not.toContain("correct");
  });

  test("is not written when the two passphrases differ, or without an answer", async () => {
    const args = ["export", "sealed.json", "--secrets", "seal"];
    const differs = await cli(args, { terminal: 80, answers: ["correct horse", "other horse"] });
    expect(differs.code).toBe(2);
    expect((await cli(args, { terminal: 80, answers: [] })).code).toBe(1);
    expect(existsSync(inFolder("sealed.json"))).toBe(false);
  });

  test("is refused with another passphrase", async () => {
    const env = { MOORING_PASSPHRASE: "correct horse" };
    await cli(["export", "sealed.json", "--secrets", "seal"], { env });
    const { code, err } = await cli(["import", "sealed.json"], {
      env: { MOORING_PASSPHRASE: "battery staple" },
    });
    expect(code).toBe(4);
    expect(err).toContain("cannot be opened");
  });
});

describe("import", () => {
  const backup = (...settings: object[]) =>
    JSON.stringify({ format: "mooring-archive", version: 1, settings });
  const title = { key: "site_title", value: "Restored" };

  test("reports each changed key, and a summary", async () => {
    await writeFile(
      inFolder("site.json"),
      backup(
        title,
        { key: "version", value: "v9" },
        { key: "pagination_type", value: "all" },
        { key: "mine", value: "1" },
      ),
    );
    const { code, out } = await cli(["import", "site.json"]);
    expect(code).toBe(0);
    expect(out.split("\n")).toEqual([
      "PART      NAME        OUTCOME  NOTE",
      "settings  site_title  changed",
      "settings  version     skipped  belongs to the server of the backup: it is imported only on request",
      "settings  mine        created",
      expect.stringMatching(
        /^imported, revision \d+: 1 created, 1 changed, 1 unchanged, 1 skipped$/,
      ),
      "",
    ]);
  });

  test("says how to import what it leaves out, and that a second import changes nothing", async () => {
    const storages = [{ mount_path: "/films", driver: "Local", addition: "{}" }];
    const own = ["token", "version", "index_progress"].map((key) => ({
      key,
      value: key === "token" ? TOKEN : "{}",
    }));
    const content = { encrypted: "", settings: [title, ...own], users: [{}], storages };
    await writeFile(inFolder("page.json"), JSON.stringify(content));
    for (const [begin, count] of [
      ["imported", "1 created, 1 changed, 0 unchanged"],
      ["nothing changed", "0 created, 0 changed, 2 unchanged"],
    ]) {
      const { code, out, err } = await cli(["import", "page.json"]);
      expect(out).toMatch(new RegExp(`^${begin}, revision \\d+: ${count}, 3 skipped$`, "m"));
      expect(out).toMatch(/^users +1 +skipped +not kept by Mooring: 1 in the file$/m);
      expect(err.split("\n")).toEqual([
        "mooring: token, version, index_progress left out: --include-server-own imports them too",
        "mooring import: not imported as in the file: users (1) (--accept-loss: exit with 0)",
        "",
      ]);
      expect(code).toBe(4);
    }
    const accepted = await cli(["import", "page.json", "--include-server-own", "--accept-loss"]);
    expect(accepted).toMatchObject({ code: 0, err: expect.not.stringContaining("left out") });
    // Lists that are not chosen are no loss.
    const chosen = await cli(["import", "page.json", "--only", "settings,mounts"]);
    expect(chosen.code).toBe(0);
    expect(chosen.out).not.toContain("users");
    await cli(["mount", "delete", "films", "--yes"]);
  });

  test("changes nothing with --dry-run", async () => {
    const { out } = await cli(["import", "-", "--dry-run"], { stdin: backup(title) });
    expect(out).toContain(": 0 created, 1 changed");
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
  });

  test("refuses invalid values with a line for each, and skips them with --skip-invalid", async () => {
    const wrong = [
      { key: "default_page_size", value: "many" },
      { key: "allow_indexed", value: "perhaps" },
    ];
    const refused = await cli(["import", "-"], { stdin: backup(title, ...wrong) });
    expect(refused.code).toBe(4);
    expect(refused.err.split("\n")).toHaveLength(4);
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
    const taken = await cli(["import", "-", "--skip-invalid"], { stdin: backup(title, ...wrong) });
    expect(taken.out).toMatch(/default_page_size +skipped +\S/);
    expect((await cli(["get", "site_title"])).out).toBe("Restored\n");
  });

  test("accepts a bare list of settings", async () => {
    const { out } = await cli(["import", "-"], { stdin: JSON.stringify([title]) });
    expect(out).toContain("1 changed");
  });

  test("keeps Mooring's own token, unless the server's is asked for", async () => {
    const token = "token-of-a-server-0123456789-0123456789";
    const stdin = JSON.stringify({ encrypted: "", settings: [{ key: "token", value: token }] });
    const kept = await cli(["import", "-"], { stdin });
    expect(kept.out).toMatch(/^settings +token +skipped +belongs to the server of the backup/m);
    expect((await cli(["list"])).code).toBe(0);
    const dry = await cli(["import", "-", "--include-server-own", "--dry-run"], { stdin });
    expect(dry.out).toMatch(/^settings +token +changed/m);
    expect((await cli(["list"])).code).toBe(0);
  });

  test("keeps a stored secret, with exit code 4, and replaces it after a choice and a confirmation", async () => {
    await cli(["set", "aria2_secret=stored"]);
    const stdin = backup({ key: "aria2_secret", value: "of the file" });
    for (const flags of [[], ["--dry-run"], ["--yes"]]) {
      const kept = await cli(["import", "-", ...flags], { stdin });
      expect([kept.code, kept.out]).toEqual([
        4,
        expect.stringMatching(/settings +aria2_secret +unchanged +stays as it is here: value/),
      ]);
    }
    expect((await cli(["import", "-", "--accept-loss"], { stdin })).code).toBe(0);
    const replace = ["import", "-", "--replace-secrets"];
    const plan = await cli([...replace, "--dry-run"], { stdin });
    expect(plan.out).toContain("replaces the secret value");
    const refused = await cli(replace, { stdin });
    expect([refused.code, refused.err]).toEqual([
      4,
      expect.stringContaining("settings aria2_secret: value"),
    ]);
    expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("stored\n");
    expect((await cli([...replace, "--yes"], { stdin })).code).toBe(0);
    expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("of the file\n");
  });

  test("reports that the token has changed", async () => {
    const token = "another-token-0123456789-0123456789";
    const stdin = backup({ key: "token", value: token });
    expect((await cli(["import", "-"], { stdin })).err).toContain("token left out");
    expect((await cli(["list"])).code).toBe(0);
    const ended = await cli(["import", "-", "--include-server-own", "--yes"], { stdin });
    expect(ended.err).toContain("the admin token is now that of the backup");
    expect((await cli(["list"])).code).toBe(5);
    const back = { env: { MOORING_TOKEN: token }, stdin: TOKEN };
    expect((await cli(["token", "set", "--yes"], back)).code).toBe(0);
  });

  test.each([
    ["no JSON", '{"settings": [{"value": "secret', 4, "line 1"],
    ["JSON that is not a backup", "17", 4, "invalid backup"],
    ["an object that is not a backup", '{"a": 1}', 4, "unknown JSON format"],
  ])("refuses %s without quoting it", async (_what, stdin, code, reason) => {
    const ended = await cli(["import", "-"], { stdin });
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(reason);
    expect(ended.err).not.toContain("secret");
  });

  test("refuses a file that is too large", async () => {
    const many = Array.from({ length: 530 }, (_, at) => ({
      key: `k${at}`,
      value: "x".repeat(64_000),
    }));
    const { code, err } = await cli(["import", "-"], { stdin: backup(...many) });
    expect(code).toBe(1);
    expect(err).toContain("33554432 bytes");
  });

  test("ends with 3 when the file does not exist", async () => {
    expect((await cli(["import", "nowhere.json"])).code).toBe(3);
  });

  test("reads only the settings of an AList or OpenList database", async () => {
    const database = new SQLite(inFolder("data.db"));
    for (const prefix of ["x_", "y_"]) {
      database.exec(`create table ${prefix}setting_items (key text primary key, value text)`);
      database
        .prepare(`insert into ${prefix}setting_items values (?, ?)`)
        .run("site_title", prefix);
    }
    database.close();
    const unclear = await cli(["import", "data.db"]);
    expect(unclear.code).toBe(4);
    expect(unclear.err).toContain("x_setting_items, y_setting_items");
    expect((await cli(["import", "data.db", "--table", "y_setting_items"])).code).toBe(0);
    expect((await cli(["get", "site_title"])).out).toBe("y_\n");
    await writeFile(inFolder("site.json"), backup(title));
    expect((await cli(["import", "site.json", "--table", "x"])).code).toBe(2);
  });
});

const backups = join(import.meta.dirname, "../../../shared/facts/backups");
describe.skipIf(!existsSync(backups))("a backup file of the web page (needs ../shared)", () => {
  test("that is encrypted prompts for its password on a terminal", async () => {
    const args = ["import", join(backups, "encrypted.json"), "--dry-run"];
    const { code, err } = await cli(args, { terminal: 80, answers: ["correct horse"] });
    expect(code).toBe(0);
    expect(err).toMatch(
      /^Passphrase of the backup: \nmooring: nothing was changed\nmooring: .*--include-server-own imports them too\n$/,
    );
    expect((await cli(args)).code).toBe(4);
  });
});
