// biome-ignore-all lint/suspicious/noTemplateCurlyInString: references of a file
// The commands plan, apply and export --as-file.
import { chmod, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedForEach } from "../started.ts";
import { newFolder } from "../store/folder.ts";
import { startService } from "./service.ts";
import { closedPipe } from "./world.ts";

const folder = startedForEach(newFolder);
const service = startedForEach(() => startService());
const cli = (...args: string[]) => service.cli(args, { cwd: folder.path });

const WHOLE = `version: 1
settings:
  site_title: Harbour
  aria2_secret: \${file:aria2}
mounts:
  films:
    path: /films
    driver: Local
    config: { root_folder_path: /srv/films }
    sites: all
principals:
  ci: { kind: program }
`;

async function write(text = WHOLE): Promise<void> {
  await writeFile(folder.at("aria2"), "secret-of-aria2\n");
  await writeFile(folder.at("state.yaml"), text);
}

describe("without a reader of the output", () => {
  const unread = async (...args: string[]) =>
    (await service.cli(args, { cwd: folder.path, world: { stdout: closedPipe() } })).code;

  test("commands do all of their work, and keep their exit codes", async () => {
    await write();
    expect(await unread("plan", "state.yaml")).toBe(2);
    expect(await unread("plan", "state.yaml", "--json")).toBe(2);
    expect(await unread("apply", "state.yaml")).toBe(0);
    expect(await unread("plan", "state.yaml")).toBe(0);
    const dav = {
      name: "dav",
      path: "/dav",
      driver: "WebDav",
      sites: "all",
      omitted: ["config/password"],
    };
    const archive = {
      format: "mooring-archive",
      version: 1,
      mounts: [{ ...dav, config: { vendor: "other", address: "http://x", username: "a" } }],
    };
    await writeFile(folder.at("archive.json"), JSON.stringify(archive));
    expect(await unread("import", "archive.json", "--yes")).toBe(4);
    expect((await cli("mount", "get", "dav")).code).toBe(0);
  });

  test.each(["watch --json", "audit export", "list"])("%s ends", async (line) => {
    await service.cli(["set", "site_title=x"]);
    expect(await unread(...line.split(" "))).toBe(0);
  });
});

test("a plan exits with 2 and shows what would change; apply does it in one revision; then the plan is equal", async () => {
  await write();
  await service.cli(["set", "announcement=left alone"]);
  const plan = await cli("plan", "state.yaml");
  expect(plan).toMatchObject({ code: 2, err: "" });
  expect(plan.out).toMatch(/settings\s+site_title\s+changed/);
  expect(plan.out).toMatch(/mounts\s+films\s+created/);
  expect(plan.out).toMatch(/principals\s+ci\s+created/);
  expect(plan.out).toContain("Not in the file, left as it is:\n  settings: announcement");
  expect(plan.out).not.toContain("secret-of-aria2");
  const before = await service.newest();
  const applied = await cli("apply", "state.yaml");
  expect(applied).toMatchObject({ code: 0 });
  expect(applied.out).toMatch(
    /^applied, revision \d+: 2 created, 2 changed, 0 unchanged, 0 skipped$/m,
  );
  expect(await service.newest()).toBe(before + 1);
  expect((await cli("history", "--limit", "1")).out).toContain("file state.yaml");
  expect(await cli("get", "aria2_secret", "--reveal")).toMatchObject({ out: "secret-of-aria2\n" });
  const again = await cli("plan", "state.yaml");
  expect(again).toMatchObject({ code: 0 });
  expect(again.out).toContain("0 created, 0 changed, 4 unchanged");
  expect(await cli("apply", "state.yaml")).toMatchObject({ code: 0 });
  expect(await service.newest()).toBe(before + 1);
});

test("a plan of one part leaves the others out, and is JSON on request", async () => {
  await write();
  const { code, out } = await cli("plan", "state.yaml", "--only", "settings", "--json");
  const { results } = JSON.parse(out) as { results: { part: string }[] };
  expect(code).toBe(2);
  expect(new Set(results.map(({ part }) => part))).toEqual(new Set(["settings"]));
});

describe("an invalid file changes nothing and is explained by line", () => {
  test.each([
    ["settings:\n  site_tile: x\n", "state.yaml:2:3: site_tile: there is no such setting."],
    ["setings: {}\n", 'state.yaml:1:1: there is no section "setings". Did you mean "settings"?'],
    ["settings:\n  site_title: ${file:absent}\n", "state.yaml:2:3: site_title: the file "],
    [
      "mounts:\n  a: { path: /a, driver: Local, sites: [nowhere], config: { x: 1 } }\n",
      "state.yaml:2:33: a.sites: there is no site",
    ],
    ["settings:\n  site_title: a\n  token: short\n", "state.yaml:3:3: token: "],
  ])("%j", async (text, line) => {
    await write(text);
    const before = await service.newest();
    const plan = await cli("plan", "state.yaml");
    expect(plan).toMatchObject({ code: 1, out: "" });
    expect(plan.err).toContain(line);
    const applied = await cli("apply", "state.yaml", "--yes");
    expect(applied.code).toBe(4);
    expect(applied.err).toContain(line);
    expect(await service.newest()).toBe(before);
  });

  test("a missing file, an unknown flag and a missing argument are failures of the plan", async () => {
    for (const args of [["absent.yaml"], ["state.yaml", "--nope"], []])
      expect((await cli("plan", ...args)).code).toBe(1);
  });
});

test("files of settings and of mounts are planned as well", async () => {
  await writeFile(folder.at("settings.yaml"), "settings:\n  site_title: One\n");
  await writeFile(folder.at("mounts.yaml"), "mounts: {}\n");
  expect((await cli("plan", "settings.yaml")).code).toBe(2);
  expect((await cli("plan", "mounts.yaml")).code).toBe(0);
});

test("export --as-file writes a file that equals the service, with its secrets on request", async () => {
  await write();
  await cli("apply", "state.yaml");
  const bare = await cli("export", "--as-file", "--output", "bare.yaml");
  expect(bare.err).toContain("put the value into secrets/settings.aria2_secret");
  expect(await readFile(folder.at("bare.yaml"), "utf8")).toContain(
    "aria2_secret: ${file:secrets/settings.aria2_secret}",
  );
  // The default of a secret setting is public, and no file has it.
  expect(bare.err).not.toContain("qbittorrent_url");
  expect(await readFile(folder.at("bare.yaml"), "utf8")).not.toContain("qbittorrent_url");
  const all = (await cli("export", "--as-file", "--all")).out;
  expect(all).toContain("qbittorrent_url: http://admin:adminadmin@localhost:8080/");
  const whole = await cli("export", "whole.yaml", "--as-file", "--secrets-dir", "kept");
  expect(whole).toMatchObject({ code: 0, err: "" });
  const files = await readdir(folder.at("kept"));
  expect(files).toEqual(["settings.aria2_secret"]);
  const { mode } = await stat(folder.at("kept", "settings.aria2_secret"));
  expect(mode & 0o777).toBe(0o600);
  expect((await cli("plan", "whole.yaml")).code).toBe(0);
  const other = await startService();
  onTestFinished(other.remove);
  const run = (...args: string[]) => other.cli(args, { cwd: folder.path });
  expect((await run("plan", "whole.yaml")).code).toBe(2);
  expect(await run("apply", "whole.yaml")).toMatchObject({ code: 0 });
  expect((await run("plan", "whole.yaml")).code).toBe(0);
  expect((await run("get", "aria2_secret", "--reveal")).out).toBe("secret-of-aria2\n");
  // An existing file is not replaced.
  expect((await cli("export", "whole.yaml", "--as-file")).code).toBe(4);
  await chmod(folder.at("kept"), 0o700);
});

test("an exported file with values of a server that Mooring refuses equals the service; other wrong values are refused", async () => {
  const addition = JSON.stringify({ root_folder_path: "/srv/books" });
  const row = { mount_path: "/books", driver: "Local", addition };
  const metas = [
    { path: "/books", p_sub: false, hide: "one\r\n\r\ntwo(" },
    { path: "/films", p_sub: false, hide: "", readme: "page\fbreak" },
  ];
  const strange = { webdav_policy: "", cache_expiration: 30, order_by: "colour" };
  await writeFile(
    folder.at("storages.json"),
    JSON.stringify({ settings: [], storages: [{ ...row, ...strange }], metas }),
  );
  const imported = await cli("import", "storages.json", "--yes", "--accept-loss");
  expect(imported.out).toContain("taken as it is");
  expect(await cli("export", "whole.yaml", "--as-file")).toMatchObject({ code: 0 });
  const text = await readFile(folder.at("whole.yaml"), "utf8");
  expect(text).toContain('webdav_policy: ""');
  const plan = await cli("plan", "whole.yaml");
  expect(plan).toMatchObject({ code: 0, err: "" });
  const other = await startService();
  onTestFinished(other.remove);
  const run = (...args: string[]) => other.cli(args, { cwd: folder.path });
  const planned = await run("plan", "whole.yaml");
  expect(planned).toMatchObject({ code: 2, err: "" });
  expect(planned.out).toContain("taken as it is");
  expect(await run("apply", "whole.yaml", "--yes")).toMatchObject({ code: 0 });
  expect((await run("plan", "whole.yaml")).code).toBe(0);
  await run("export", "again.yaml", "--as-file");
  expect(await readFile(folder.at("again.yaml"), "utf8")).toBe(text);
  const changed = text.replace("order_by: colour", "order_by: taste").replace("two(", "three(");
  await writeFile(folder.at("edited.yaml"), changed);
  const edited = await cli("plan", "edited.yaml");
  expect(edited.code).toBe(1);
  expect(edited.err).toContain("books.members.order_by");
  expect(edited.err).toContain("/books.hide");
  expect(edited.err).not.toMatch(/webdav_policy|readme/);
});

test("plan, apply and export --as-file work on a database without a service", async () => {
  await write();
  await service.stop();
  const offline = (...args: string[]) => cli(...args, "--database", service.database);
  expect((await offline("plan", "state.yaml")).code).toBe(2);
  expect(await offline("apply", "state.yaml")).toMatchObject({ code: 0 });
  expect((await offline("plan", "state.yaml")).code).toBe(0);
  const { out } = await offline("export", "--as-file");
  expect(out).toContain("site_title: Harbour");
  // What a file of the service declares is skipped, and said to be applied by the service.
  await writeFile(folder.at("own.yaml"), "settings:\n  site_title: Own\n");
  const managed = await service.cli(["apply", "state.yaml", "--database", service.database], {
    cwd: folder.path,
    env: { MOORING_STATE_FILE: folder.at("own.yaml") },
  });
  expect(managed.code).toBe(0);
  await writeFile(folder.at("state.yaml"), WHOLE.replace("Harbour", "Another"));
  const refused = await service.cli(["apply", "state.yaml", "--database", service.database], {
    cwd: folder.path,
    env: { MOORING_STATE_FILE: folder.at("own.yaml") },
  });
  expect(refused.code).toBe(4);
  expect(refused.err).toContain(
    `is managed by the state file ${folder.at("own.yaml")}, which the service applies at its start`,
  );
  await service.start();
});
