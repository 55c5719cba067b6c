import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import SQLite from "better-sqlite3";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../../src/access/grant.ts";
import { readServerDatabase } from "../../../src/archive/alist-database.ts";
import type { SecretsMode } from "../../../src/archive/document.ts";
import type { ImportOptions } from "../../../src/archive/import.ts";
import { FLAG } from "../../../src/settings/item.ts";
import { SETTINGS } from "../../../src/settings/kind.ts";
import { temporaryPaths } from "../../store/folder.ts";
import { failureOf } from "../../thrown.ts";
import {
  importSettings,
  type Parts,
  type PartsOptions,
  save,
  tester,
  testParts,
} from "../parts.ts";

const newPath = temporaryPaths();
const real = resolve(import.meta.dirname, "../../../../shared/facts/backups");
const passphrase = "correct horse battery";

/** A site with settings, secrets and custom settings. */
async function site(options?: PartsOptions): Promise<Parts> {
  const parts = await testParts(newPath(), options);
  await parts.settings.resetToken(tester);
  await save(parts, {
    site_title: "Harbour ⚓",
    default_page_size: "7",
    aria2_secret: "unseen-secret",
    qbittorrent_url: "http://u:unseen-password@h/",
    announcement: "two\nlines",
  });
  const described = { type: "select", options: "a,b", help: "why", group: 42, flag: FLAG.public };
  await parts.settings.save([{ key: "mine", value: "b", ...described }], tester);
  await parts.settings.save([{ key: "odd", value: "", flag: FLAG.deprecated }], tester);
  return parts;
}

/** All settings that a client sees except the version, which each program writes itself. */
const shown = ({ settings }: Parts) =>
  settings
    .list([])
    .filter(({ key }) => key !== "version")
    .map(({ revision: _, definition: __, position: ___, ...rest }) => rest);

const exported = async (parts: Parts, mode: SecretsMode): Promise<unknown> =>
  JSON.parse(
    JSON.stringify(
      await parts.archive.export(ROOT, {
        secrets: mode,
        only: [],
        names: [],
        includeServerOwn: true,
      }),
    ),
  );

const imported = async (parts: Parts, value: unknown, options: Partial<ImportOptions> = {}) => {
  const { results, ...rest } = await importSettings(parts, value, options);
  return { ...rest, result: results };
};

const outcomes = (results: readonly { name: string; outcome: string }[]) =>
  Object.fromEntries(results.map(({ name, outcome }) => [name, outcome]));

describe("a backup imported into a new database", () => {
  test("restores the settings when the secrets are sealed in it", async () => {
    const from = await site();
    const backup = await exported(from, { mode: "seal", passphrase });
    expect(JSON.stringify(backup)).not.toMatch(/unseen/);
    const to = await testParts(newPath());
    const { result, revision } = await imported(to, backup, { passphrase, includeServerOwn: true });
    expect(shown(to)).toEqual(shown(from));
    expect(revision).toBe(1);
    expect(outcomes(result)).toMatchObject({
      site_title: "changed",
      mine: "created",
      odd: "created",
      logo: "unchanged",
      token: "changed",
      aria2_secret: "changed",
    });
    expect(result).toHaveLength(from.ledger.snapshot().of(SETTINGS).size);
  });

  test("leaves the secrets unchanged when it has none", async () => {
    const from = await site();
    const backup = await exported(from, { mode: "omit" });
    expect(JSON.stringify(backup)).not.toMatch(/unseen/);
    const to = await testParts(newPath());
    const { token } = await to.settings.resetToken(tester);
    const { result } = await imported(to, backup);
    const open = (parts: Parts) => shown(parts).filter(({ secret }) => !secret);
    expect(open(to)).toEqual(open(from));
    expect(to.settings.get("token").value).toBe(token);
    expect(to.settings.get("aria2_secret").value).toBe("");
    expect(outcomes(result)).toMatchObject({ token: "skipped", aria2_secret: "skipped" });
  });

  test("is the same whether the databases seal their secrets or not", async () => {
    const keys = ["k".repeat(32)];
    const from = await site({ keys });
    const to = await testParts(newPath(), { keys: ["l".repeat(32)] });
    const options = { passphrase, includeServerOwn: true };
    await imported(to, await exported(from, { mode: "seal", passphrase }), options);
    expect(shown(to)).toEqual(shown(from));
  });

  test("is one revision, whose history has no secrets", async () => {
    const to = await testParts(newPath());
    await imported(to, await exported(await site(), { mode: "clear" }));
    expect(JSON.stringify(await to.store.commits(0, 9, 9))).not.toMatch(/unseen/);
    expect((await to.history.get(1)).changes.map(({ key }) => key)).toContain("aria2_secret");
  });
});

describe("an import", () => {
  const item = (key: string, value: string) => ({ key, value });

  test("with a refused value saves nothing and names every refused setting", async () => {
    const to = await testParts(newPath());
    const wrong = [item("default_page_size", "many"), item("allow_indexed", "maybe")];
    const failure = await failureOf(() => imported(to, [item("site_title", "x"), ...wrong]));
    expect(failure.code).toBe(Code.InvalidArgument);
    expect(failure.violations.map(({ field }) => field)).toEqual([
      "default_page_size",
      "allow_indexed",
    ]);
    expect(to.ledger.snapshot().revision).toBe(0);
  });

  test("makes no private setting public and sets no short token", async () => {
    const to = await testParts(newPath());
    const { token } = await to.settings.resetToken(tester);
    const open = { flag: FLAG.public, group: 1, type: "text" };
    const list = [
      { ...item("aria2_secret", "s"), ...open },
      { ...item("token", "short"), ...open },
    ];
    const { result } = await imported(to, list, { includeServerOwn: true });
    expect(to.settings.get("aria2_secret")).toMatchObject({ value: "s", flag: FLAG.private });
    expect(to.settings.get("token").value).toBe(token);
    expect(result[1]).toMatchObject({ name: "token", outcome: "skipped" });
    expect(String(result[1]?.note)).not.toContain("short");
  });

  test("may have more settings than a save", async () => {
    const to = await testParts(newPath());
    const many = Array.from({ length: 2_500 }, (_, at) => item(`k${at}`, `${at}`));
    const { result } = await imported(to, many);
    expect(result.filter(({ outcome }) => outcome === "created")).toHaveLength(2_500);
  });

  test("of an AList or OpenList SQLite file saves its settings", async () => {
    const path = newPath("data.db");
    const database = new SQLite(path);
    database.exec(
      "create table x_setting_items (`key` text primary key, `value` text, `help` text, `type` text, `options` text, `group` integer, `flag` integer, `index` integer)",
    );
    const insert = database.prepare("insert into x_setting_items values (?,?,'',?,'',?,?,0)");
    const token = `openlist-${"t".repeat(100)}`;
    insert.run("site_title", "Old site", "string", 1, 0);
    insert.run("token", token, "string", 0, 1);
    insert.run("allow_indexed", "1", "bool", 1, 0);
    insert.run("version", "v4.0.0", "string", 1, 2);
    insert.run("115_temp_dir", "/tmp", "string", 5, 3);
    database.close();
    const to = await testParts(newPath());
    const own = to.settings.get("token").value;
    const planned = await imported(to, readServerDatabase(path), { dryRun: true });
    expect(outcomes(planned.result)).toMatchObject({ token: "skipped", version: "skipped" });
    const { result } = await imported(to, readServerDatabase(path));
    expect(outcomes(result)).toEqual({
      site_title: "changed",
      token: "skipped",
      allow_indexed: "changed",
      version: "skipped",
      "115_temp_dir": "created",
    });
    expect(to.settings.get("allow_indexed").value).toBe("true");
    expect(to.settings.get("115_temp_dir").flag).toBe(FLAG.deprecated);
    expect(to.settings.get("token").value).toBe(own);
    const asked = await imported(to, readServerDatabase(path), { includeServerOwn: true });
    expect(outcomes(asked.result)).toMatchObject({
      token: "changed",
      version: "skipped",
    });
    expect(to.settings.get("token").value).toBe(token);
  });
});

describe.skipIf(!existsSync(real))("the real backups of the web page (../shared)", () => {
  const readPlain = (): { settings: { key: string; value: string }[] } =>
    JSON.parse(readFileSync(join(real, "plain.json"), "utf8"));

  test.each([
    ["plain.json", ""],
    ["encrypted.json", "correct horse"],
  ])("%s is imported except settings that belong to the other server", async (file, password) => {
    const to = await testParts(newPath());
    const { token } = await to.settings.resetToken(tester);
    const backup: unknown = JSON.parse(readFileSync(join(real, file), "utf8"));
    const { result } = await imported(to, backup, { passphrase: password });
    const skipped = result.filter(({ outcome }) => outcome === "skipped");
    expect(skipped.map(({ name }) => name)).toEqual(["version", "index_progress", "token"]);
    for (const { note } of skipped) expect(String(note)).toContain("belongs to the server");
    // On request, too: the token of that fictitious site is too short.
    const asked = { passphrase: password, includeServerOwn: true, dryRun: true };
    const requested = (await imported(to, backup, asked)).result;
    expect(requested.find(({ name }) => name === "token")?.note).sentence(
      /^is left unchanged: a token has at least 32 characters/,
    );
    expect(to.settings.get("token").value).toBe(token);
    const taken = result.filter(({ outcome }) => outcome !== "skipped");
    expect(taken.length + skipped.length).toBe(readPlain().settings.length);
    const values = new Map(readPlain().settings.map(({ key, value }) => [key, value]));
    for (const { name: key, outcome } of taken) {
      expect(["created", "changed", "unchanged"]).toContain(outcome);
      expect([key, to.settings.get(key).value]).toEqual([key, values.get(key)]);
    }
  });
});
