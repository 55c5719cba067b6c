import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { ROOT } from "../../src/access/grant.ts";
import { checkInProcess } from "../../src/app/check-process.ts";
import type { CheckContent } from "../../src/backups/check.ts";
import { BackupService, type BackupServiceDeps } from "../../src/backups/service.ts";
import { createFolderTarget } from "../../src/backups/target/folder.ts";
import type { BackupTarget } from "../../src/backups/target/target.ts";
import { startLocalServices } from "../app/local-services.ts";
import { IMPORT_ALL } from "../archive/import-options.ts";
import { quickKey } from "../archive/text.ts";
import { startedForAll, startedForEach } from "../started.ts";
import { newDatabaseFolder } from "../store/folder.ts";

const check: CheckContent = (content, passphrase) =>
  checkInProcess(content, passphrase, {}, quickKey);
const PASSPHRASE = "correct horse battery";
const signal = new AbortController().signal;
const options = { passphrase: "", includeServerOwn: false, signal };

const site = startedForAll(async () => {
  const folder = newDatabaseFolder();
  const local = await startLocalServices(folder);
  await local.call("SaveSettings", {
    settings: [
      { key: "site_title", value: "Harbour" },
      { key: "aria2_secret", value: "hush-of-aria2" },
    ],
  });
  await local.call("SaveMounts", {
    mounts: [
      { name: "films", mountPath: "/films", driver: "Local", config: { root_folder_path: "/" } },
    ],
  });
  return {
    local,
    stop: async () => {
      await local.close();
      await rm(folder, { recursive: true });
    },
  };
});

const place = startedForEach(async () => {
  const parent = newDatabaseFolder();
  return { folder: join(parent, "backups"), stop: () => rm(parent, { recursive: true }) };
});

/** Time of the next backup; each is a day later. */
let time = Date.UTC(2026, 0, 1, 12);

function open(more: Partial<BackupServiceDeps> = {}) {
  return new BackupService({
    archive: site.local.services.archive,
    target: createFolderTarget(place.folder),
    passphrase: PASSPHRASE,
    keep: { last: 100 },
    check,
    lease: { take: async () => async () => undefined },
    databaseId: () => site.local.services.databaseId(),
    now: () => {
      time += 86_400_000;
      return time;
    },
    ...more,
  });
}

const files = async (): Promise<string[]> => (await readdir(place.folder)).sort();

test("a stored backup has everything, sealed, and can be restored", async () => {
  const backups = open();
  const { backup, counts, omissions } = await backups.create(ROOT, options);
  expect(counts).toMatchObject({ sites: 0, mounts: 1, settings: expect.any(Number) });
  expect(omissions).toEqual([{ part: "settings", names: expect.arrayContaining(["token"]) }]);
  expect(await files()).toEqual([backup.name]);
  const text = await readFile(join(place.folder, backup.name), "utf8");
  expect(text).toContain("Harbour");
  expect(text).not.toContain("hush-of-aria2");
  expect(await backups.list(signal)).toEqual([backup]);
  const { checked } = await backups.check(backup.name, "", signal);
  expect(checked).toMatchObject({ problem: "", counts, losses: [] });
});

test("the admin token is in a backup only on request", async () => {
  const names = async (includeServerOwn: boolean): Promise<string[]> => {
    const { backup } = await open().create(ROOT, { ...options, includeServerOwn });
    const { settings } = JSON.parse(await readFile(join(place.folder, backup.name), "utf8"));
    return settings.map(({ key }: { key: string }) => key);
  };
  expect(await names(false)).not.toContain("token");
  expect(await names(true)).toContain("token");
});

/** Changes of a file that must be found. */
const DAMAGES: readonly [string, (text: string) => string][] = [
  ["cut at its end", (text) => text.slice(0, -20)],
  ["cut in the middle", (text) => text.slice(0, text.length / 2)],
  ["empty", () => ""],
  ["with an open value that was changed", (text) => text.replace("Harbour", "Harbouf")],
  ["with a changed path of a mount", (text) => text.replace("/films", "/filmz")],
  ["with an entry that was removed", (text) => text.replace(/\{"key":"site_title".*\n/, "")],
  [
    "with an entry that was added",
    (text) =>
      text.replace('"webhooks": [', '"webhooks": [\n{"name":"x","target":"https://x.example"}'),
  ],
  ["without its digest", (text) => text.replace(/"digest": "[0-9a-f]+",\n/, "")],
  ["with counts that were changed", (text) => text.replace('"mounts":1', '"mounts":2')],
  ["with a changed revision", (text) => text.replace(/"revision": \d+/, '"revision": 999')],
  ["with a changed sealed part", (text) => text.replace(/"sealed":"(.)/, '"sealed":"AA$1')],
  ["that is another JSON file", () => '{"settings": []}'],
  ["of bytes that are no text", () => "\u0000\uFFFF\uD800"],
];

test.each(DAMAGES)("the check finds a file %s", async (_what, damage) => {
  const backups = open();
  const { backup } = await backups.create(ROOT, options);
  const path = join(place.folder, backup.name);
  const text = await readFile(path, "utf8");
  await writeFile(path, damage(text));
  const { checked } = await backups.check(backup.name, "", signal);
  expect(String(checked.problem)).not.toBe("");
});

test("the check reports a wrong passphrase", async () => {
  const { backup } = await open().create(ROOT, options);
  const { checked } = await open().check(backup.name, "another passphrase", signal);
  expect(String(checked.problem)).toContain("passphrase");
});

/** Faults of a target or of the check, which must leave no file that counts. */
const FAULTS: readonly [string, Partial<BackupTarget>, message: string][] = [
  ["cannot be written", { write: () => Promise.reject(new Error("no space")) }, "no space"],
  ["cannot be read back", { read: async () => undefined }, "read back from"],
  ["is read back with other bytes", { read: async () => Buffer.from("{}") }, "read back from"],
  ["cannot be renamed", { rename: () => Promise.reject(new Error("no name")) }, "no name"],
];

test.each(FAULTS)(
  "no backup counts, and none is removed, when the file %s",
  async (_what, fault, expected) => {
    const { backup } = await open().create(ROOT, options);
    const target = { ...createFolderTarget(place.folder), ...fault };
    await expect(open({ target, keep: { last: 1 } }).create(ROOT, options)).rejects.toThrow(
      expected,
    );
    expect(await files()).toEqual([backup.name]);
  },
);

test("no backup counts when its check fails", async () => {
  const failing = open({
    check: async (...of) => ({ ...(await check(...of)), problem: "it does not open" }),
    keep: { last: 1 },
  });
  const { backup } = await open().create(ROOT, options);
  await expect(failing.create(ROOT, options)).rejects.toMatchObject({
    code: Code.FailedPrecondition,
  });
  expect(await files()).toEqual([backup.name]);
});

test("older backups are removed after a new one, others never", async () => {
  await mkdir(place.folder);
  const foreign = [
    "mooring-backup-20200102T030405678Z-otherdb.json",
    "mooring-backup-20200102T030405678Z-otherdb.json.part",
    "notes.txt",
    `mooring-backup-20200102T030405678Z-${site.local.services.databaseId()}.json`,
  ];
  for (const name of foreign) await writeFile(join(place.folder, name), "mine");
  const backups = open({ keep: { last: 2 } });
  const made = [];
  for (let at = 0; at < 4; at += 1) made.push((await backups.create(ROOT, options)).backup.name);
  expect(await files()).toEqual([...foreign, ...made.slice(-2)].sort());
  const { unknown, others } = await backups.prune({ dryRun: false, signal });
  expect(unknown).toEqual([foreign[3]]);
  expect(others.map(({ name }) => name)).toEqual([foreign[0]]);
});

test("pruning keeps the newest backup that can be restored", async () => {
  const backups = open();
  const made = [];
  for (let at = 0; at < 4; at += 1) made.push((await backups.create(ROOT, options)).backup.name);
  const [first = "", second = "", third = "", fourth = ""] = made;
  for (const name of [third, fourth]) {
    const path = join(place.folder, name);
    await writeFile(path, (await readFile(path, "utf8")).replace("Harbour", "Harbouf"));
  }
  const planned = await open({ keep: { last: 1 } }).prune({ dryRun: true, signal });
  expect(planned.removed.map(({ name }) => name)).toEqual([third, first]);
  expect(await files()).toEqual([first, second, third, fourth].sort());
  const { kept } = await open({ keep: { last: 1 } }).prune({ dryRun: false, signal });
  expect(kept.map(({ name }) => name)).toEqual([fourth, second]);
});

test("nothing is removed when no backup can be restored", async () => {
  const backups = open();
  for (let at = 0; at < 3; at += 1) await backups.create(ROOT, options);
  const before = await files();
  const wrong = open({ keep: { last: 1 }, passphrase: "another passphrase" });
  expect((await wrong.prune({ dryRun: false, signal })).removed).toEqual([]);
  expect(await files()).toEqual(before);
});

test("a file that another process left unfinished is removed by the next backup", async () => {
  await mkdir(place.folder);
  const left = `mooring-backup-20200102T030405678Z-${site.local.services.databaseId()}.json.part`;
  await writeFile(join(place.folder, left), "{");
  const { backup } = await open().create(ROOT, options);
  expect(await files()).toEqual([backup.name]);
});

test("an ended call leaves no file", async () => {
  const ending = new AbortController();
  const backups = open({
    check: async () => {
      ending.abort(new Error("the caller is gone"));
      throw ending.signal.reason;
    },
  });
  await expect(backups.create(ROOT, { ...options, signal: ending.signal })).rejects.toThrow("gone");
  expect(await files()).toEqual([]);
});

test("a process without the lease makes no backup", async () => {
  const backups = open({ lease: { take: async () => undefined } });
  await expect(backups.create(ROOT, options)).rejects.toMatchObject({
    code: Code.ResourceExhausted,
  });
});

test.each(["../secret", "/etc/passwd", "mooring-backup-20260102T030405678Z-nowhere.json", ""])(
  "there is no backup %j",
  async (name) => {
    await expect(open().check(name, "", signal)).rejects.toMatchObject({ code: Code.NotFound });
  },
);

test("a service without a place or a passphrase makes no backup", async () => {
  const code = { code: Code.FailedPrecondition };
  await expect(open({ target: undefined }).create(ROOT, options)).rejects.toMatchObject(code);
  await expect(open({ passphrase: undefined }).create(ROOT, options)).rejects.toMatchObject(code);
});

test("a restore of a stored backup brings back what was changed, as one revision", async () => {
  const { local } = site;
  const backups = open();
  const { backup } = await backups.create(ROOT, options);
  await local.call("SaveSettings", { settings: [{ key: "site_title", value: "Changed" }] });
  await local.call("DeleteMounts", { names: ["films"] });
  const before = local.services.ledger.snapshot().revision;
  const origin = { ...ORIGIN, reason: "" };
  const restored = await backups.restore({ name: backup.name }, { grant: ROOT, origin }, CHOICES);
  expect(restored.revision).toBe(before + 1);
  const changed = restored.results.filter(({ outcome }) => outcome !== "unchanged");
  expect(changed.map(({ part, name, outcome }) => `${part} ${name} ${outcome}`)).toEqual([
    "settings site_title changed",
    "mounts films created",
  ]);
});

const ORIGIN = { actor: "admin", transport: "", method: "", requestId: "", peer: "" };
const CHOICES = { ...IMPORT_ALL, signal };
