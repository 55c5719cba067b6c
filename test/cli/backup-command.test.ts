import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cli, service, TOKEN, useService } from "./service.ts";

useService({
  MOORING_BACKUP_DIR: "backups",
  MOORING_BACKUP_PASSPHRASE: "passphrase of the service",
  MOORING_BACKUP_KEEP: "last=2",
});

const own = ["--passphrase-file", "passphrase"];
const path = (name: string): string => join(service.folder, name);
const names = async (): Promise<string[]> => (await readdir(path("backups"))).sort();

beforeAll(() => writeFile(path("passphrase"), "passphrase of the operator\n"));
beforeEach(async () => {
  await rm(path("backups"), { recursive: true, force: true });
  await rm(path("site.json"), { force: true });
  await cli(["set", "site_title=Harbour", "aria2_secret=hush"]);
});

describe("in the place of the service", () => {
  test("a backup is created, listed, checked and restored", async () => {
    expect((await cli(["backup", "list"])).out).toMatch(
      /^NAME .*\n0 backups in .*\/backups; no schedule; keep last=2\n$/,
    );
    const created = await cli(["backup", "create"]);
    expect(created.code).toBe(0);
    const [name = ""] = await names();
    expect(created.out).toContain(name);
    expect((await cli(["backup", "list"])).out).toContain("1 backup in");
    const checked = await cli(["backup", "check", name]);
    expect(checked.out).toContain(`${name} can be restored: 0 sites, `);
    expect(checked.code).toBe(0);
    await cli(["set", "site_title=Other", "aria2_secret=loud"]);
    const kept = await cli(["backup", "restore", name, "--yes"]);
    expect([kept.code, kept.out]).toEqual([
      4,
      expect.stringMatching(/aria2_secret +unchanged +stays as it is here: value/),
    ]);
    expect(kept.out).toMatch(/settings +site_title +changed/);
    const restored = await cli(["backup", "restore", name, "--replace-secrets", "--yes"]);
    expect(restored.code).toBe(0);
    expect((await cli(["get", "--reveal", "aria2_secret"])).out).toBe("hush\n");
  });

  test("older ones are removed by the rule of the service", async () => {
    for (let at = 0; at < 3; at += 1) await cli(["backup", "create"]);
    expect(await names()).toHaveLength(2);
    const { out } = await cli(["backup", "prune", "--dry-run"]);
    expect(out).toContain("0 backups would be removed, 2 kept");
  });

  test("backups of another database are listed as such, and prune names and keeps them", async () => {
    await cli(["backup", "create"]);
    const [name = ""] = await names();
    const former = name.replace(/Z-.*/, "Z-former.json");
    await writeFile(join(path("backups"), former), "{}");
    expect((await cli(["backup", "list"])).out).toContain("another database (former)");
    const pruned = await cli(["backup", "prune", "--yes"]);
    expect(pruned).toMatchObject({ code: 0 });
    expect(pruned.err).toContain(`left alone: 1 backup of another database, such as ${former}`);
    const { others } = JSON.parse((await cli(["backup", "prune", "--dry-run", "--json"])).out);
    expect(others.map(({ name: other }: { name: string }) => other)).toEqual([former]);
    expect(await names()).toContain(former);
  });

  test("a damaged backup is reported with exit code 1", async () => {
    await cli(["backup", "create"]);
    const [name = ""] = await names();
    const file = join(path("backups"), name);
    await writeFile(file, (await readFile(file, "utf8")).replace("Harbour", "Harbouf"));
    const { code, err } = await cli(["backup", "check", name]);
    expect(code).toBe(1);
    expect(err).toContain("damaged");
  });

  test("a missing one is reported with exit code 3", async () => {
    for (const action of ["check", "restore"]) {
      const { code, err } = await cli([
        "backup",
        action,
        "no-such-backup",
        ...(action === "restore" ? ["--yes"] : []),
      ]);
      expect(code).toBe(3);
      expect(err).toContain("mooring backup list");
    }
  });
});

describe("in a file", () => {
  const create = () => cli(["backup", "create", "--output", "site.json", ...own]);

  test("a backup is sealed with the passphrase of the operator, and has no admin token", async () => {
    const { code, out } = await create();
    expect(code).toBe(0);
    expect(out).toMatch(/^backup of 0 sites, .* at revision \d+: site\.json\n$/);
    const text = await readFile(path("site.json"), "utf8");
    expect(text).not.toContain("hush");
    expect(text).not.toContain(TOKEN);
  });

  test("it is checked on this machine, without a service or a token", async () => {
    await create();
    const { code, out } = await cli(["backup", "check", "site.json", ...own], {
      env: { MOORING_ADDRESS: "127.0.0.1:1", MOORING_TOKEN: "" },
    });
    expect(code).toBe(0);
    expect(out).toMatch(/^site\.json can be restored: 0 sites, 0 servers, \d+ settings, /);
  });

  test("an existing file is replaced only with --force", async () => {
    await writeFile(path("site.json"), "precious");
    expect((await create()).code).toBe(4);
    expect(await readFile(path("site.json"), "utf8")).toBe("precious");
  });

  test("a restore shows its plan, and changes nothing without an answer", async () => {
    await create();
    await cli(["set", "site_title=Other"]);
    const refused = await cli(["backup", "restore", "site.json", ...own]);
    expect(refused.code).toBe(4);
    expect(refused.err).toContain("--yes");
    const declined = await cli(["backup", "restore", "site.json", ...own], {
      terminal: 100,
      answers: ["n"],
    });
    expect(declined.code).toBe(1);
    expect(declined.err).toMatch(/settings +site_title +changed/);
    expect((await cli(["get", "site_title"])).out).toBe("Other\n");
    const agreed = await cli(["backup", "restore", "site.json", ...own], {
      terminal: 100,
      answers: ["y"],
    });
    expect(agreed.code).toBe(0);
    expect((await cli(["get", "site_title"])).out).toBe("Harbour\n");
  });

  test.each([["nofile"], ["./nofile.json"], ["nofile.json", "--dry-run"]])(
    "a missing file or backup %j is reported before --yes is asked for",
    async (...args) => {
      const { code, err } = await cli(["backup", "restore", ...args, ...own]);
      expect(code).toBe(3);
      expect(err).toContain("nofile");
      expect(err).not.toContain("--yes");
    },
  );

  test("a restore of one part leaves the others alone", async () => {
    await create();
    await cli(["set", "site_title=Other"]);
    const { code, out } = await cli([
      "backup",
      "restore",
      "site.json",
      "--only",
      "mounts",
      "--yes",
      ...own,
    ]);
    expect(code).toBe(0);
    expect(out).toContain("nothing changed");
    expect((await cli(["get", "site_title"])).out).toBe("Other\n");
  });

  test("a database without a service is backed up and restored", async () => {
    const database = ["--database", service.database];
    const created = await cli(["backup", "create", "--output", "site.json", ...own, ...database], {
      env: { MOORING_ADDRESS: "", MOORING_TOKEN: "" },
    });
    expect(created.code).toBe(0);
    await cli(["set", "site_title=Other"]);
    const restored = await cli(["backup", "restore", "site.json", "--yes", ...own, ...database], {
      env: { MOORING_ADDRESS: "", MOORING_TOKEN: "" },
    });
    expect(restored.code).toBe(0);
    expect((await cli(["get", "site_title"])).out).toBe("Harbour\n");
  });
});
