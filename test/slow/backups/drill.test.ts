// The drill: everything is lost but one backup file and its passphrase.
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Service, startService } from "../../cli/service.ts";
import { type OpenList, startOpenList } from "../mounts/open-list.ts";

let folder: string;
let home: OpenList;
let spare: OpenList;
let before: Service;
let after: Service;

const PASSPHRASE = ["--passphrase-file", "passphrase"];
const TOKEN_AFTER = "token-of-the-new-mooring-0123456789abcdef";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-drill-"));
  await mkdir(join(folder, "films"));
  await writeFile(join(folder, "films", "one.mkv"), "a film");
  home = await startOpenList();
  spare = await startOpenList();
}, 600_000);

afterAll(async () => {
  await Promise.all([before?.remove(), after?.remove(), home?.close(), spare?.close()]);
  await rm(folder, { recursive: true, force: true });
});

const listOf = async (server: OpenList, path: string): Promise<readonly string[]> => {
  const reply = (await server.call("POST", "/api/fs/list", { path, password: "" })) as {
    readonly content: readonly { readonly name: string }[] | null;
  };
  return (reply.content ?? []).map(({ name }) => name);
};

const usersOf = async (server: OpenList): Promise<readonly string[]> => {
  const reply = (await server.call("GET", "/api/admin/user/list")) as {
    readonly content: readonly { readonly username: string }[];
  };
  return reply.content.map(({ username }) => username).sort();
};

/** A Mooring beside the first server, with one of everything. */
async function fill(): Promise<void> {
  before = await startService();
  const { cli } = before;
  const ok = async (...args: string[]): Promise<void> => {
    const { code, err } = await cli(args, { cwd: folder });
    expect([args, code, err]).toEqual([args, 0, expect.any(String)]);
  };
  await writeFile(join(folder, "passphrase"), "the passphrase of the drill\n");
  await writeFile(join(folder, "home-token"), home.token);
  await writeFile(join(folder, "hook"), "https://hooks.example/secret-part");
  await ok("site", "add", "home", home.url, "--site-token-file", "home-token");
  await ok("set", "site_title=Harbour", "aria2_secret=hush");
  await ok(
    "mount",
    "create",
    "films",
    "/films",
    "Local",
    `root_folder_path=${join(folder, "films")}`,
  );
  await ok("site", "sync", "home", "--yes");
  await ok("site", "set", "home", "mode=follow", "--yes");
  await ok("webhook", "add", "hook", "--url-file", "hook");
  await ok("token", "create", "anna", "--scopes", "settings:read", "--output", "anna");
  await home.call("POST", "/api/admin/user/create", {
    username: "bob",
    password: "password-of-bob",
    base_path: "/films",
    permission: 0,
    role: 0,
    disabled: false,
  });
  await expect.poll(() => listOf(home, "/films"), { timeout: 20_000 }).toEqual(["one.mkv"]);
}

test("one file, its passphrase and one command bring everything back, on a new server too", async () => {
  await fill();
  const created = await before.cli(["backup", "create", "--output", "site.json", ...PASSPHRASE], {
    cwd: folder,
  });
  expect([created.code, created.err]).toEqual([0, expect.stringContaining("not in the backup: ")]);
  const text = await readFile(join(folder, "site.json"), "utf8");
  for (const secret of ["hush", home.token, "secret-part", "bob"])
    expect(text).not.toContain(secret);
  const checked = await before.cli(["backup", "check", "site.json", ...PASSPHRASE], {
    cwd: folder,
    env: { MOORING_TOKEN: "" },
  });
  expect(checked.out).toContain("1 site, ");
  expect(checked.out).toMatch(/1 mount, .*1 webhook, 1 principal, 1 server/);

  // Both are lost: Mooring with its database, and the server with its users.
  await before.remove();
  await home.close();

  // The new server has the address and the token of the new machine.
  after = await startService({ MOORING_ADMIN_TOKEN: TOKEN_AFTER });
  const cli: Service["cli"] = (args) =>
    after.cli(args, { cwd: folder, env: { MOORING_TOKEN: TOKEN_AFTER } });
  await writeFile(join(folder, "spare-token"), spare.token);
  expect(
    (await cli(["site", "add", "spare", spare.url, "--site-token-file", "spare-token"])).code,
  ).toBe(0);
  const restore = ["backup", "restore", "site.json", "--site", "home=spare", ...PASSPHRASE];
  const plan = await cli([...restore, "--dry-run"]);
  expect(plan.out).toMatch(/mounts +films +created/);
  expect(plan.out).toMatch(/servers +spare users bob +created/);
  expect(await usersOf(spare)).not.toContain("bob");
  const restored = await cli([...restore, "--yes"]);
  // The password of bob cannot be read from any server: he has a new one.
  expect(restored.code).toBe(4);
  expect(restored.out).toMatch(/new password of spare users bob: \S{20}\n/);
  expect(await usersOf(spare)).toContain("bob");
  expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("hush\n");
  expect((await cli(["principal", "list"])).out).toContain("anna");
  const anna = await readFile(join(folder, "anna"), "utf8");
  const read = await after.cli(["get", "site_title"], { env: { MOORING_TOKEN: anna.trim() } });
  expect(read.out).toBe("Harbour\n");
  expect((await cli(["site", "sync", "spare", "--yes"])).code).toBe(0);
  expect((await cli(["site", "set", "spare", "mode=follow", "--yes"])).code).toBe(0);
  await expect.poll(() => listOf(spare, "/films"), { timeout: 20_000 }).toEqual(["one.mkv"]);
  // The token of the new Mooring is its own, and a second restore changes nothing more.
  const again = await cli([...restore, "--yes"]);
  expect(again.out).toMatch(/nothing changed, revision \d+: 0 created, 0 changed/);
}, 300_000);
