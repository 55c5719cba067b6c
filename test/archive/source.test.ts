import { randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { readSource } from "../../src/archive/source.ts";
import { failureOf } from "../thrown.ts";
import { encrypt } from "./page-encryption.ts";
import { setting } from "./setting.ts";
import { PARTS, readText as readSourceText, settingsOf } from "./text.ts";

const cipher = createPassphraseCipher(randomBytes);
const readText = (text: string, passphrase = "") => readSourceText(text, passphrase, cipher);
const readValue = (value: unknown, passphrase = "") => readText(JSON.stringify(value), passphrase);

const real = resolve(import.meta.dirname, "../../../shared/facts/backups");

describe.skipIf(!existsSync(real))("the real backups of the web page (../shared)", () => {
  const plain = () => readText(readFileSync(join(real, "plain.json"), "utf8"));
  const encrypted = (passphrase?: string) =>
    readText(readFileSync(join(real, "encrypted.json"), "utf8"), passphrase);

  test("the plain one is read completely", async () => {
    const source = await plain();
    const settings = settingsOf(source);
    expect(settings).toHaveLength(37);
    expect(settings[1]).toEqual(setting({ key: "site_title", value: "Stub Site", group: 1 }));
    expect(source.unread).toEqual([]);
  });

  test("the encrypted one has the same settings", async () => {
    expect(settingsOf(await encrypted("correct horse"))).toEqual(settingsOf(await plain()));
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
        expect(settingsOf(await readValue(backup, password))).toEqual([item]);
      }),
    );
  });

  test("of an older page has values that were encrypted without the JSON step", async () => {
    const items = ["plain", "true", "30", '{"a":1}', "", '"unclosed'].map((value, at) =>
      setting({ key: `k${at}`, value, group: 1 }),
    );
    const backup = encryptedBackup(items, "pw", false);
    expect(settingsOf(await readValue(backup, "pw"))).toEqual(items);
  });

  test("with a damaged member is refused with its name", async () => {
    const backup = encryptedBackup([setting({ key: "a" })], "pw") as { settings: object[] };
    const settings = [{ ...backup.settings[0], value: "AAAA" }];
    const failure = await failureOf(() => readValue({ ...backup, settings }, "pw"));
    expect(failure.message).toMatch(/^settings\[0\]\.value .*damaged/);
  });

  test("that was not encrypted with this scheme has a wrong password", async () => {
    const backup = { encrypted: "hello", settings: [] };
    expect((await failureOf(() => readValue(backup, "x"))).message).toMatch(/wrong password/);
  });
});

describe("the kind of a backup", () => {
  test("is detected by its content", async () => {
    const list = [setting({ key: "a", value: "1" })];
    const rows = [{ mount_path: "/a", driver: "Local", addition: "{}" }];
    const own = JSON.stringify({ format: "mooring-archive", version: 1, settings: list });
    const partsOf = async (text: string) => [...(await readText(text)).given.keys()];
    expect(await partsOf(own)).toEqual(["settings"]);
    expect(await partsOf(`\uFEFF${own}`)).toEqual(["settings"]);
    const texts = [{ encrypted: "", settings: list }, list, { code: 200, data: list }];
    for (const each of texts) expect(settingsOf(await readValue(each))).toEqual(list);
    const page = await readValue({ encrypted: "", settings: list, storages: rows });
    expect([...page.given.keys()]).toEqual(["settings", "mounts"]);
    for (const each of [rows, { data: { content: rows, total: 1 } }, { data: rows }])
      expect((await readValue(each)).given).toEqual(new Map([["mounts", { rows }]]));
  });

  test("users, metas and shares are counted", async () => {
    const backup = { encrypted: "", settings: [], users: [{}, {}], metas: [], shares: 3 };
    expect((await readValue(backup)).unread).toEqual([
      { name: "users", count: 2 },
      { name: "shares", count: 3 },
    ]);
  });

  test.each([
    "{}",
    "[1]",
    "null",
    "5",
    '"x"',
    '{"data":{}}',
    '{"format":"other","settings":[]}',
    '{"format":"other","settings":[{"key":"site_title","value":"x"}]}',
    '{"format":"other","storages":[]}',
  ])("%s is refused", async (text) => {
    expect((await failureOf(() => readText(text))).code).toBe(Code.InvalidArgument);
  });

  test.each(["[]", '{"storages":[]}', '{"data":{"content":[],"total":0}}'])(
    "%s without an entry is refused with the reason",
    async (text) => {
      const failure = await failureOf(() => readText(text));
      expect(failure.message).toContain("the lists of this backup are empty");
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
      .map((text) => `{"format":"mooring-archive","version":1,"settings":[],"sealed":${text}}`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), fc.json(), known, own), async (text) => {
        await readText(text, "some passphrase")
          .then(settingsOf)
          .catch((error) => expect(error.name).toBe("ServiceError"));
      }),
    );
  });

  test("input that is too deep, too large or too long is refused", async () => {
    const deep = `{"settings":[],"users":${"[".repeat(40)}${"]".repeat(40)}}`;
    expect((await failureOf(() => readText(deep))).message).toMatch(/more than 32/);
    const large = " ".repeat(32 * 1024 * 1024 + 1);
    expect((await failureOf(() => readText(large))).message).toMatch(/32 MiB/);
  });
});

describe("before anything is decrypted", () => {
  const page = (rows: readonly object[]): string =>
    JSON.stringify({ encrypted: encrypt('"encrypted"', "right"), settings: rows });

  test("the parts are accepted, with their numbers of entries", async () => {
    const accepts = (part: string, count: number): boolean => {
      throw new Error(`${part} ${count}`);
    };
    const options = { passphrase: "wrong", parts: PARTS, accepts };
    const text = page([{ key: "a" }, { key: "b" }]);
    await expect(readSource(JSON.parse(text), options, cipher)).rejects.toThrow("settings 2");
    const sealed = {
      format: "mooring-archive",
      version: 1,
      sealed: {},
      sites: [{ name: "home", sealed: ["token"] }],
    };
    await expect(readSource(sealed, options, cipher)).rejects.toThrow("sites 1");
  });

  test("a part that is not accepted stays encrypted", async () => {
    const value = encrypt('"secret"', "right");
    const options = { passphrase: "right", parts: PARTS, accepts: () => false };
    const { given } = await readSource(JSON.parse(page([{ value }])), options, cipher);
    expect(given.get("settings")?.rows).toEqual([{ value }]);
  });

  test("rows with too many members and a long proof are refused", async () => {
    const wide = Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`m${at}`, "x"]));
    const failure = await failureOf(() => readText(page([wide]), "right"));
    expect(failure.message).toContain("settings[0] has 201 members");
    const long = { encrypted: "A".repeat(1_001), settings: [{ key: "a" }] };
    expect((await failureOf(() => readValue(long, "right"))).message).toContain('"encrypted"');
  });
});

test("decryption ends with its caller", async () => {
  const value = encrypt(`"${"x".repeat(4_000)}"`, "right");
  const key = encrypt('"key"', "right");
  const rows = Array.from({ length: 2_000 }, () => ({ key, value, help: value }));
  const controller = new AbortController();
  const file = { encrypted: encrypt('"encrypted"', "right"), settings: rows };
  const options = { passphrase: "right", parts: PARTS, signal: controller.signal };
  const read = readSource(file, options, cipher);
  setImmediate(() => controller.abort(new Error("the client ended the call")));
  await expect(read).rejects.toThrow("the client ended the call");
});
