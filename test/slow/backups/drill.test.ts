// The drill: everything is lost but one backup file and its passphrase.
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deriveKey } from "../../../src/archive/passphrase.ts";
import { type Service, startService } from "../../cli/service.ts";
import { startedMooring } from "../../process/mooring.ts";
import { runInBash } from "../docs/shell.ts";
import { type OpenList, startOpenList } from "../mounts/open-list.ts";

let folder: string;
let home: OpenList;
let spare: OpenList;
let third: OpenList;
let before: Service;
let after: Service;

/** Folders that are mounted, each with its file. */
const FILES = { films: "one.mkv", open: "two.mkv", private: "three.mkv" };
const MOUNTED = Object.keys(FILES).map((name) => `/${name} work`);
/** Share of a folder by its user, and one by the admin. */
const SHARES = [
  { id: "films-of-bob", files: ["/films"], creator: "bob", pwd: "pass-1", remark: "for friends" },
  { id: "open-of-admin", files: ["/open"], creator: "admin", pwd: "", max_accessed: 9 },
];
const PASSPHRASE = ["--passphrase-file", "passphrase"];
const TOKEN_AFTER = "token-of-the-new-mooring-0123456789abcdef";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "mooring-drill-"));
  for (const [name, file] of Object.entries(FILES)) {
    await mkdir(join(folder, name));
    await writeFile(join(folder, name, file), "contents");
  }
  home = await startOpenList();
  spare = await startOpenList();
  third = await startOpenList();
}, 600_000);

afterAll(async () => {
  await Promise.all([
    before?.remove(),
    after?.remove(),
    home?.close(),
    spare?.close(),
    third?.close(),
  ]);
  await rm(folder, { recursive: true, force: true });
});

/** Paths of the mounts of a server, each with its status. */
const mountsOf = async (server: OpenList): Promise<readonly string[]> => {
  const { content } = (await server.call("GET", "/api/admin/storage/list")) as {
    readonly content: readonly { readonly mount_path: string; readonly status: string }[] | null;
  };
  return (content ?? []).map(({ mount_path, status }) => `${mount_path} ${status}`).sort();
};

const usersOf = async (server: OpenList): Promise<readonly string[]> => {
  const reply = (await server.call("GET", "/api/admin/user/list")) as {
    readonly content: readonly { readonly username: string }[];
  };
  return reply.content.map(({ username }) => username).sort();
};

const sharesOf = async (server: OpenList): Promise<readonly unknown[]> => {
  const { content } = (await server.call("GET", "/api/share/list")) as {
    readonly content: readonly { readonly id: string }[] | null;
  };
  return (content ?? []).toSorted((a, b) => (a.id < b.id ? -1 : 1));
};

/** A Mooring beside the first server, with one of everything. */
async function fill(): Promise<void> {
  before = await startService({}, deriveKey);
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
  for (const name of Object.keys(FILES))
    await ok(
      "mount",
      "create",
      name,
      `/${name}`,
      "Local",
      `root_folder_path=${join(folder, name)}`,
    );
  await ok("site", "sync", "home", "--yes");
  await ok("site", "set", "home", "mode=follow", "--yes");
  await ok("webhook", "add", "hook", "--url-file", "hook");
  await ok("token", "create", "anna", "--scopes", "settings:read", "--output", "anna");
  await home.call("POST", "/api/admin/user/create", {
    username: "bob",
    password: "password-of-bob",
    base_path: "/films",
    // May share.
    permission: 1 << 14,
    role: 0,
    disabled: false,
  });
  await ok("rule", "create", "/films", "read_users=bob", "read_users_sub=true", "readme=Films");
  await expect.poll(() => rulesOf(home), { timeout: 20_000 }).toEqual(["/films"]);
  // A rule of the server's own page, which Mooring does not manage.
  await home.call("POST", "/api/admin/meta/create", {
    path: "/private",
    read_users: [await idOf(home, "bob")],
    read_users_sub: true,
  });
  for (const share of SHARES) await home.call("POST", "/api/share/create", share);
  await openToGuests(home);
  await expect.poll(() => guestSees(home, "/open"), { timeout: 20_000 }).toEqual(["two.mkv"]);
  await expect.poll(() => rulesOf(home), { timeout: 20_000 }).toEqual(["/films", "/private"]);
  expect(await guestSees(home, "/films")).toEqual([]);
}

interface ServerUser {
  readonly id: number;
  readonly username: string;
}

async function rowOf(server: OpenList, name: string): Promise<ServerUser> {
  const { content } = (await server.call("GET", "/api/admin/user/list")) as {
    readonly content: readonly ServerUser[];
  };
  const row = content.find(({ username }) => username === name);
  if (row === undefined) throw new Error(`no user ${name}`);
  return row;
}

const idOf = async (server: OpenList, name: string): Promise<number> =>
  (await rowOf(server, name)).id;

/** A new OpenList refuses visitors without an account. */
async function openToGuests(server: OpenList): Promise<void> {
  const guest = await rowOf(server, "guest");
  await server.call("POST", "/api/admin/user/update", { ...guest, disabled: false });
}

const rulesOf = async (server: OpenList): Promise<readonly string[]> => {
  const { content } = (await server.call("GET", "/api/admin/meta/list")) as {
    readonly content: readonly { readonly path: string }[] | null;
  };
  return (content ?? []).map(({ path }) => path).sort();
};

/** Names that somebody sees in a folder; empty: none, or it is refused. */
async function seenBy(
  server: OpenList,
  token: string,
  path: string,
  password = "",
): Promise<readonly string[]> {
  const reply = await fetch(`${server.url}/api/fs/list`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: token },
    body: JSON.stringify({ path, password }),
  });
  const { data } = (await reply.json()) as {
    readonly data: { readonly content: readonly { readonly name: string }[] | null } | null;
  };
  return (data?.content ?? []).map(({ name }) => name);
}

const guestSees = (server: OpenList, path: string, password?: string) =>
  seenBy(server, "", path, password);

test("a backup is one file, and shows no secret", async () => {
  await fill();
  const created = await before.cli(["backup", "create", "--output", "site.json", ...PASSPHRASE], {
    cwd: folder,
  });
  expect([created.code, created.err]).toEqual([0, expect.stringContaining("not in the backup: ")]);
  const text = await readFile(join(folder, "site.json"), "utf8");
  for (const secret of ["hush", home.token, "secret-part", "films-of-bob", "pass-1"])
    expect(text).not.toContain(secret);
  const checked = await before.cli(["backup", "check", "site.json", ...PASSPHRASE], {
    cwd: folder,
    env: { MOORING_TOKEN: "" },
  });
  expect(checked.out).toContain("1 site, ");
  expect(checked.out).toMatch(/1 server, .*3 mounts, .*1 webhook, 1 principal/);

  // Both are lost: Mooring with its database, and the server with its users.
  await before.remove();
  await home.close();
});

test("one restore brings everything back to a server that another Mooring has already", async () => {
  // The new server has the address and the token of the new machine.
  after = await startService({ MOORING_ADMIN_TOKEN: TOKEN_AFTER }, deriveKey);
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
  expect(await sharesOf(spare)).toMatchObject(SHARES);
  expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("hush\n");
  expect((await cli(["principal", "list"])).out).toContain("anna");
  const anna = await readFile(join(folder, "anna"), "utf8");
  const read = await after.cli(["get", "site_title"], { env: { MOORING_TOKEN: anna.trim() } });
  expect(read.out).toBe("Harbour\n");
  expect((await cli(["site", "sync", "spare", "--yes"])).code).toBe(0);
  expect((await cli(["site", "set", "spare", "mode=follow", "--yes"])).code).toBe(0);
  await expect.poll(() => mountsOf(spare), { timeout: 20_000 }).toEqual(MOUNTED);
  expect(await rulesOf(spare)).toEqual(["/films", "/private"]);
  // The token of the new Mooring is its own, and a second restore changes nothing more.
  const again = await cli([...restore, "--yes"]);
  expect(again.out).toMatch(/nothing changed, revision \d+: 0 created, 0 changed/);
}, 300_000);

/** The commands of a page that restore everything to a new machine and a new server. */
function commandsOf(page: string): { readonly serve: string; readonly restore: string } {
  const [, section = ""] =
    /\n## (?:Restore|恢复)\n([\s\S]*?)\n## /.exec(readFileSync(page, "utf8")) ?? [];
  const [, service = "", onServer = ""] = [...section.matchAll(/```sh\n([\s\S]*?)```/g)].map(
    ([, block = ""]) => block.trim(),
  );
  return { serve: service.split("\n")[0] ?? "", restore: onServer };
}

test("the two commands of the page bring the site back on a new server, where no mount is open without its rule", async () => {
  const { serve, restore } = commandsOf("docs/backup.md");
  expect(commandsOf("docs/zh-CN/backup.md")).toEqual({ serve, restore });
  expect(serve).toBe("mooring serve &");
  const machine = join(folder, "new-machine");
  await mkdir(machine);
  for (const name of ["site.json", "passphrase"])
    await writeFile(join(machine, name), await readFile(join(folder, name)));
  await writeFile(join(machine, "new-token"), third.token);
  await openToGuests(third);

  const mooring = await startedMooring({ folder: machine, args: ["serve"] });
  const [, token = ""] = /admin token of this new database.*: (\S+)\n/.exec(mooring.stderr()) ?? [];
  await writeFile(join(machine, "token"), token);

  /** Names that a visitor without an account could read in folders with a rule. */
  const leaks = new Set<string>();
  let looks = 0;
  const ended = new AbortController();
  const visitor = (async () => {
    for (; !ended.signal.aborted; looks += 1)
      for (const path of ["/films", "/private"])
        for (const name of await guestSees(third, path)) leaks.add(`${path}/${name}`);
  })();
  const line = restore.replace("http://new-server:5244", third.url);
  expect(line).toContain(`--to home=${third.url}`);
  const { code, out } = await runInBash(line, machine, {
    MOORING_ADDRESS: `127.0.0.1:${mooring.port()}`,
    MOORING_TOKEN_FILE: join(machine, "token"),
  });
  // Only the password of bob is not as it was.
  expect([code, out]).toEqual([4, expect.stringContaining("home shares films-of-bob")]);
  const [, password = ""] = /new password of home users bob: (\S{20})$/m.exec(out) ?? [];
  await expect.poll(() => mountsOf(third), { timeout: 30_000 }).toEqual(MOUNTED);
  await expect.poll(() => guestSees(third, "/open"), { timeout: 30_000 }).toEqual(["two.mkv"]);
  ended.abort();
  await visitor;
  expect(looks).toBeGreaterThan(0);
  expect([...leaks]).toEqual([]);

  expect(await rulesOf(third)).toEqual(["/films", "/private"]);
  expect(await sharesOf(third)).toMatchObject(SHARES);
  expect(await guestSees(third, "/@s/films-of-bob", "pass-1")).toEqual(["one.mkv"]);
  expect(await guestSees(third, "/@s/films-of-bob", "wrong")).toEqual([]);
  const login = await third.call("POST", "/api/auth/login", { username: "bob", password });
  const { token: ofBob } = login as { readonly token: string };
  expect(await seenBy(third, ofBob, "/")).toEqual(["one.mkv"]);
}, 300_000);
