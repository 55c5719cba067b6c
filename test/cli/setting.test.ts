import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { cli, service, startService, TOKEN, useService } from "./service.ts";

useService();
beforeEach(async () => {
  await service.cli(["unset", "site_title", "announcement", "aria2_secret"]);
});

const newest = (): Promise<number> => service.newest();

describe("get", () => {
  test("prints the bare value of one key", async () => {
    await cli(["set", "site_title=Harbour"]);
    expect(await cli(["get", "site_title"])).toEqual({ code: 0, out: "Harbour\n", err: "" });
  });

  test("prints several keys as a table, in the given order", async () => {
    const { code, out } = await cli(["get", "pagination_type", "site_title"]);
    expect(code).toBe(0);
    expect(out).toBe(
      [
        "KEY              GROUP  NOTE    VALUE",
        "pagination_type  site   public  all",
        "site_title       site   public  OpenList",
        "",
      ].join("\n"),
    );
  });

  test("ends with 3 for an unknown key and suggests the nearest name", async () => {
    const { code, out, err } = await cli(["get", "site_titel"]);
    expect({ code, out }).toEqual({ code: 3, out: "" });
    expect(err).toContain('there is no setting "site_titel": did you mean site_title?');
  });

  test("suggests no key when none is similar", async () => {
    const { code, err } = await cli(["get", "entirely-something-else"]);
    expect(code).toBe(3);
    expect(err).not.toContain("did you mean");
  });

  test("refuses to print a secret to a pipe, where a mask would look like the value", async () => {
    const { code, out, err } = await cli(["get", "site_title", "token"]);
    expect({ code, out }).toEqual({ code: 4, out: "" });
    expect(err).toContain("token: secret; --reveal prints the value");
  });

  test("masks a secret on a terminal and names the flag that shows it", async () => {
    const { code, out, err } = await cli(["get", "token"], { terminal: 80 });
    expect({ code, out }).toEqual({ code: 0, out: "********\n" });
    expect(err).toContain("--reveal");
  });

  test("prints a secret with --reveal", async () => {
    expect((await cli(["get", "token", "--reveal"])).out).toBe(`${TOKEN}\n`);
  });

  test("prints an empty secret as empty", async () => {
    expect(await cli(["get", "aria2_secret"])).toEqual({ code: 0, out: "\n", err: "" });
  });

  test("prints the exact value to a pipe, and no control characters to a terminal", async () => {
    const value = "a\u001b[2Jb\u009bc\nd";
    await cli(["set", "announcement", value]);
    expect((await cli(["get", "announcement"])).out).toBe(`${value}\n`);
    const { out } = await cli(["get", "announcement"], { terminal: 80 });
    expect(out).toBe("a\\u001b[2Jb\\u009bc\nd\n");
  });

  test("prints the JSON of the contract", async () => {
    const { out } = await cli(["get", "site_title", "--json"]);
    expect(JSON.parse(out)).toMatchObject({
      setting: { key: "site_title", value: "OpenList", secret: false, index: 1 },
      revision: String(await newest()),
    });
  });
});

describe("set", () => {
  test("saves KEY=VALUE for several keys as one revision", async () => {
    const before = await newest();
    const { code, out } = await cli(["set", "site_title=a=b", "announcement="]);
    expect({ code, out }).toEqual({ code: 0, out: `saved: revision ${before + 1}\n` });
    expect((await cli(["get", "site_title"])).out).toBe("a=b\n");
    expect((await cli(["get", "announcement"])).out).toBe("\n");
  });

  test("saves KEY VALUE, and after -- a value that begins with a dash", async () => {
    await cli(["set", "site_title", "x = y"]);
    expect((await cli(["get", "site_title"])).out).toBe("x = y\n");
    await cli(["set", "--", "site_title", "--help"]);
    expect((await cli(["get", "site_title"])).out).toBe("--help\n");
  });

  test("reports that nothing changes", async () => {
    await cli(["set", "site_title=Same"]);
    const revision = await newest();
    const { out } = await cli(["set", "site_title=Same"]);
    expect(out).toBe(`no changes: revision ${revision}\n`);
  });

  test("refuses a read-only setting, and saves no other setting of the command", async () => {
    const revision = await newest();
    const refused = {
      code: 4,
      out: "",
      err: "mooring set: nothing was saved: version is read-only: the program sets it\n",
    };
    expect(await cli(["set", "version=v9"])).toEqual(refused);
    expect(await cli(["set", "version=v9", "--dry-run"])).toEqual(refused);
    expect(await cli(["set", "site_title=With it", "version=v9"])).toEqual(refused);
    expect(await newest()).toBe(revision);
    const { out } = await cli(["get", "version"]);
    expect(await cli(["set", `version=${out.trim()}`])).toMatchObject({ code: 0, err: "" });
  });

  test("reads a value from standard input, without the final line break", async () => {
    await cli(["set", "announcement", "-"], { stdin: "one\n\ntwo\n\n" });
    expect((await cli(["get", "announcement"])).out).toBe("one\n\ntwo\n\n");
  });

  test("reads a value from a file, and removes a final CRLF", async () => {
    await writeFile(join(service.folder, "title.txt"), "From a file\r\n");
    await cli(["set", "site_title", "--from-file", "title.txt"]);
    expect((await cli(["get", "site_title"])).out).toBe("From a file\n");
  });

  test.each([
    ["missing.txt", 3, "there is no such file"],
    [".", 1, "it is a folder"],
  ])("reports that the file %s cannot be read", async (path, code, reason) => {
    const ended = await cli(["set", "site_title", "--from-file", path]);
    expect(ended.code).toBe(code);
    expect(ended.err).toContain(reason);
  });

  test("refuses a file that is larger than a setting or is not text", async () => {
    const large = await cli(["set", "announcement", "-"], { stdin: "x".repeat(17_000_000) });
    expect(large).toMatchObject({ code: 1, out: "" });
    expect(large.err).toContain("16777218 bytes");
    const binary = await cli(["set", "announcement", "-"], { stdin: Buffer.from([0xff, 0xfe]) });
    expect(binary.err).toContain("not UTF-8 text");
  });

  test("lists every invalid value on its own line and saves none", async () => {
    const ended = await cli(["set", "site_title=New", "default_page_size=x", "allow_indexed=y"]);
    expect(ended.code).toBe(4);
    expect(ended.err.split("\n")).toEqual([
      "mooring set: nothing was saved: 2 values are wrong",
      expect.stringContaining("  default_page_size: "),
      expect.stringContaining("  allow_indexed: "),
      "",
    ]);
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
  });

  test("prints the changes with --dry-run, and changes nothing", async () => {
    const revision = await newest();
    const { code, out } = await cli(["set", "site_title=Other", "--dry-run"]);
    expect(code).toBe(0);
    expect(out).toBe(
      [
        "KEY         BEFORE    AFTER",
        "site_title  OpenList  Other",
        "dry run: 1 setting would change",
        "",
      ].join("\n"),
    );
    expect(await newest()).toBe(revision);
  });

  test("prints no secret in a dry run", async () => {
    const { out } = await cli(["set", "aria2_secret=hush", "--dry-run"]);
    expect(out).toContain("aria2_secret");
    expect(out).not.toContain("hush");
  });

  test("refuses --expect-etag after a later change, and names the setting", async () => {
    const newestEtag = async () => JSON.parse((await cli(["list", "--json"])).out).etag;
    const etag = await newestEtag();
    await cli(["set", "announcement=meanwhile"]);
    const ended = await cli(["set", "site_title=Late", "--expect-etag", etag]);
    expect(ended.code).toBe(7);
    expect(ended.err).toContain("announcement");
    const again = await newestEtag();
    expect((await cli(["set", "site_title=Now", "--expect-etag", again])).code).toBe(0);
    const unknown = await cli(["set", "site_title=x", "--expect-etag", "1.0123456789abcdef"]);
    expect(unknown).toMatchObject({
      code: 7,
      err: expect.stringContaining("restored from a copy"),
    });
  });

  test("records the reason in the history", async () => {
    await cli(["set", "site_title=Why", "--reason", "because it rained"]);
    expect((await cli(["history", "-n", "1"])).out).toContain("because it rained");
  });

  test("creates a custom setting only with --new", async () => {
    const refused = await cli(["set", "site_titel=typo"]);
    expect(refused.code).toBe(3);
    expect(refused.err).toContain("did you mean site_title? (--new creates a custom setting)");
    expect((await cli(["set", "my_key=1", "--new"])).code).toBe(0);
    expect((await cli(["set", "my_key=2"])).code).toBe(0);
    expect((await cli(["get", "my_key"])).out).toBe("2\n");
    await cli(["unset", "my_key", "--yes"]);
  });

  test.each([
    ["no value", ["set", "site_title"]],
    ["a missing =", ["set", "a=1", "secret-value", "b=2"]],
    ["a value beside --from-file", ["set", "site_title", "x", "--from-file", "y"]],
  ])("ends with 2 for %s", async (_what, args) => {
    const { code, out, err } = await cli(args);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("mooring set --help shows how");
    expect(err).not.toContain("secret-value");
  });
});

describe("unset", () => {
  test("resets settings with a definition to their defaults in one revision", async () => {
    await cli(["set", "site_title=x", "announcement=y"]);
    const revision = await newest();
    expect((await cli(["unset", "site_title", "announcement"])).code).toBe(0);
    expect((await cli(["get", "site_title"])).out).toBe("OpenList\n");
    expect(await newest()).toBe(revision + 1);
  });

  test("deletes a custom setting, also one with a value that looks like a flag", async () => {
    await cli(["set", "my_key=********", "--new"]);
    expect((await cli(["unset", "my_key", "--yes"])).code).toBe(0);
    expect((await cli(["get", "my_key"])).code).toBe(3);
  });

  test("prints with --dry-run the effect on each key, and changes nothing", async () => {
    await cli(["set", "my_key=1", "site_title=x", "--new"]);
    const revision = await newest();
    const { out } = await cli(["unset", "my_key", "site_title", "--dry-run"]);
    expect(out).toMatch(/my_key +1 +–\n/);
    expect(out).toMatch(/site_title +x +OpenList\n/);
    expect(await newest()).toBe(revision);
    await cli(["unset", "my_key", "--yes"]);
  });

  test("refuses a setting without a permitted default", async () => {
    expect((await cli(["unset", "token"])).code).toBe(4);
    expect((await cli(["unset", "no_such_key"])).code).toBe(3);
  });
});

test("a managed setting is refused with 4, and the error names its file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-cli-"));
  const file = join(folder, "site.yaml");
  await writeFile(file, "settings:\n  site_title: Declared\n");
  const managed = await startService({ MOORING_SETTINGS_FILE: file });
  const { code, err } = await managed.cli(["set", "site_title=Mine"]);
  const { out } = await managed.cli(["get", "site_title", "announcement"]);
  await managed.remove();
  await rm(folder, { recursive: true });
  expect(code).toBe(4);
  expect(err).toContain(file);
  expect(out).toMatch(/site_title +site +public, managed +Declared/);
});

describe("list", () => {
  test("prints the settings of some groups, by number or name", async () => {
    const { out } = await cli(["list", "--group", "s3,9", "--json"]);
    const { settings } = JSON.parse(out);
    expect(new Set(settings.map(({ group }: { group: number }) => group))).toEqual(new Set([9]));
    const unknown = await cli(["list", "--group", "siet"]);
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain("did you mean site?");
  });

  test("prints with --changed only settings that differ from their default", async () => {
    await cli(["set", "site_title=Different"]);
    const { out } = await cli(["list", "--changed"]);
    expect(out).toContain("site_title");
    expect(out).not.toContain("pagination_type");
    // A secret with a default: its mask differs from the default.
    expect(out).not.toContain("transmission_uri");
  });

  test("masks secrets without --reveal", async () => {
    expect((await cli(["list"])).out).not.toContain(TOKEN);
    expect((await cli(["list", "--reveal"])).out).toContain(TOKEN);
  });

  test("cuts lines to the width of the terminal and prints them whole elsewhere", async () => {
    await cli(["set", "announcement", "字".repeat(200)]);
    const { out } = await cli(["list", "--group", "site"], { terminal: 60 });
    const line = out.split("\n").find((each) => each.startsWith("announcement"));
    expect(line).toMatch(/字…$/);
    expect((await cli(["list"])).out).toContain("字".repeat(200));
  });
});
