import { randomBytes } from "node:crypto";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { type ImportOptions, readImport } from "../../src/archive/backup.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { encrypt } from "./page-encryption.ts";
import { failureOf, setting } from "./setting.ts";
import { writeBackup } from "./text.ts";

const cipher = createPassphraseCipher(randomBytes);
const readText = (text: string, options: ImportOptions = {}) =>
  readImport({ text }, options, cipher);
const readValue = (value: unknown, options: ImportOptions = {}) =>
  readText(JSON.stringify(value), options);

const real = resolve(import.meta.dirname, "../../../shared/facts/backups");
const folder = mkdtempSync(join(tmpdir(), "mooring-import-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(!existsSync(real))("the real backups of the web page (../shared)", () => {
  const plain = () => readImport({ path: join(real, "plain.json") }, {}, cipher);
  const encrypted = (passphrase?: string) =>
    readImport({ path: join(real, "encrypted.json") }, { passphrase }, cipher);

  test("the plain one is read completely", async () => {
    const { source, settings, skipped } = await plain();
    expect(source).toBe("alist-backup");
    expect(settings).toHaveLength(37);
    expect(settings[1]).toEqual(setting({ key: "site_title", value: "Stub Site", group: 1 }));
    expect(skipped).toEqual([]);
  });

  test("the encrypted one has the same settings", async () => {
    expect((await encrypted("correct horse")).settings).toEqual((await plain()).settings);
  });

  test("a wrong password and a missing one have different errors", async () => {
    const wrong = await failureOf(() => encrypted("wrong horse"));
    expect(wrong.code).toBe(Code.InvalidArgument);
    expect(wrong.message).toMatch(/wrong password/);
    expect(wrong.message).not.toContain("horse");
    expect((await failureOf(() => encrypted())).message).toMatch(/give the password/);
    expect((await failureOf(() => encrypted(""))).message).toMatch(/give the password/);
  });
});

function encryptedBackup(items: readonly object[], password: string, json = true): unknown {
  const member = (value: unknown) =>
    encrypt(json || typeof value !== "string" ? JSON.stringify(value) : value, password);
  return {
    encrypted: member("encrypted"),
    settings: items.map((item) =>
      Object.fromEntries(Object.entries(item).map(([name, value]) => [name, member(value)])),
    ),
  };
}

describe("an encrypted backup of the web page", () => {
  test("is decrypted to its original settings", async () => {
    const text = fc.string({ unit: "grapheme" });
    await fc.assert(
      fc.asyncProperty(text, fc.string({ minLength: 1 }), async (value, password) => {
        const item = setting({ key: "k", value, group: 4, flag: 1 });
        const backup = encryptedBackup([item], password);
        expect((await readValue(backup, { passphrase: password })).settings).toEqual([item]);
      }),
    );
  });

  test("of an older page has values that were encrypted without the JSON step", async () => {
    const items = ["plain", "true", "30", '{"a":1}', "", '"unclosed'].map((value) =>
      setting({ key: "k", value, group: 1 }),
    );
    const backup = encryptedBackup(items, "pw", false);
    expect((await readValue(backup, { passphrase: "pw" })).settings).toEqual(items);
  });

  test("with a damaged member is refused with its name", async () => {
    const backup = encryptedBackup([setting({ key: "a" })], "pw") as { settings: object[] };
    const settings = [{ ...backup.settings[0], value: "AAAA" }];
    const failure = await failureOf(() => readValue({ ...backup, settings }, { passphrase: "pw" }));
    expect(failure.message).toMatch(/^settings\[0\]\.value .*damaged/);
  });

  test("that was not encrypted with this scheme has a wrong password", async () => {
    const backup = { encrypted: "hello", settings: [] };
    expect((await failureOf(() => readValue(backup, { passphrase: "x" }))).message).toMatch(
      /wrong password/,
    );
  });
});

describe("the kind of a backup", () => {
  test("is detected by its content", async () => {
    const own = await writeBackup({ settings: [], revision: 1, time: 0 }, { mode: "omit" }, cipher);
    const list = [setting({ key: "a", value: "1" })];
    expect((await readText(own)).source).toBe("mooring");
    expect((await readText(`\uFEFF${own}`)).source).toBe("mooring");
    expect((await readValue({ encrypted: "", settings: list })).source).toBe("alist-backup");
    expect((await readValue({ code: 200, message: "success", data: list })).settings).toEqual(list);
    expect(await readImport({ value: list }, {}, cipher)).toMatchObject({ source: "setting-list" });
  });

  test("users, storages, metas and shares are counted as skipped", async () => {
    const backup = { encrypted: "", settings: [], users: [{}, {}], storages: [{}], metas: [] };
    expect((await readValue(backup)).skipped).toEqual([
      { key: "users", reason: expect.sentence(/^2 entries/) },
      { key: "storages", reason: expect.sentence(/^1 storages: import them as mounts/) },
    ]);
  });

  test.each(["{}", "[1]", "null", "5", '"x"', '{"format":"other","settings":[]}', '{"data":{}}'])(
    "%s is refused",
    async (text) => {
      expect((await failureOf(() => readText(text))).code).toBe(Code.InvalidArgument);
    },
  );

  test("malformed JSON is reported by line and column, without the text around it", async () => {
    const failure = await failureOf(() => readText('{\n "token": "hidden-secret" oops }'));
    expect(failure.message).toMatch(/line 2, column 27/);
    expect(failure.message).not.toContain("hidden");
  });

  test("no text throws an unexpected error", async () => {
    const known = fc.json().map((text) => `{"encrypted":"","settings":${text}}`);
    const own = fc
      .json()
      .map((text) => `{"format":"mooring-settings","version":1,"settings":[],"secrets":${text}}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json(), known, own), async (text) => {
        await readText(text, { passphrase: "some passphrase" }).catch((error) =>
          expect(error.name).toBe("ServiceError"),
        );
      }),
    );
  });

  test("input that is too deep, too large or too long is refused", async () => {
    const deep = `{"settings":[],"users":${"[".repeat(40)}${"]".repeat(40)}}`;
    expect((await failureOf(() => readText(deep))).message).toMatch(/more than 32/);
    const large = " ".repeat(8 * 1024 * 1024 + 1);
    expect((await failureOf(() => readText(large))).message).toMatch(/8 MiB/);
    const many = { settings: Array.from({ length: 20_001 }, () => 0) };
    expect((await failureOf(() => readValue(many))).message).toMatch(/20001 settings/);
  });

  test("a missing path, a folder and a file that is not text have different errors", async () => {
    const read = (path: string) => failureOf(() => readImport({ path }, {}, cipher));
    expect(await read(join(folder, "none.json"))).toMatchObject({ code: Code.NotFound });
    expect((await read(folder)).message).toMatch(/is not a file/);
    writeFileSync(join(folder, "binary"), Buffer.from([0xff, 0xfe, 0x00, 0x01]));
    expect((await read(join(folder, "binary"))).message).toMatch(/neither UTF-8 text/);
    writeFileSync(join(folder, "short.json"), "[]");
    const { settings } = await readImport({ path: join(folder, "short.json") }, {}, cipher);
    expect(settings).toEqual([]);
  });
});
