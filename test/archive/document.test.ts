import { randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ReadOptions, SecretsMode } from "../../src/archive/mooring.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { failureOf, setting } from "./setting.ts";
import { CHEAP, readBackup, writeBackup } from "./text.ts";

const cipher = createPassphraseCipher(randomBytes, CHEAP);
const passphrase = "a long passphrase";
const secretValue = "hush, this is not for everybody";

const settings = [
  { ...setting({ key: "site_title", value: "Harbour", group: 1 }), secret: false },
  { ...setting({ key: "aria2_secret", value: secretValue, flag: 1, group: 5 }), secret: true },
  { ...setting({ key: "my_own", value: "ü\n🏠", help: "mine", flag: 3 }), secret: false },
];
const content = { settings, revision: 7, time: Date.UTC(2026, 0, 2), databaseId: "db1" };

const write = (secrets: SecretsMode) => writeBackup(content, secrets, cipher);
const read = (text: string, options: ReadOptions = {}) => readBackup(text, options, cipher);
const keysOf = (list: readonly { key: string }[]) => list.map(({ key }) => key);

describe("a backup without secrets", () => {
  test("has everything else, and lists the omitted keys", async () => {
    const text = await write({ mode: "omit" });
    expect(text).not.toContain(secretValue);
    expect(JSON.parse(text)).toEqual({
      format: "mooring-settings",
      version: 1,
      created: "2026-01-02T00:00:00.000Z",
      databaseId: "db1",
      revision: 7,
      settings: [settings[0], settings[2]].map((item) => ({ ...item, secret: undefined })),
      omitted: ["aria2_secret"],
    });
    const { settings: back, skipped, header } = await read(text);
    expect(keysOf(back)).toEqual(["site_title", "my_own"]);
    expect(skipped).toEqual([{ key: "aria2_secret", reason: expect.sentence("omitted") }]);
    expect(header).toMatchObject({ databaseId: "db1", revision: 7 });
  });
});

describe("a backup with plain secrets", () => {
  test("is read as it was written, for any text", async () => {
    const item = fc.record({
      key: fc.string({ minLength: 1, unit: "binary" }),
      value: fc.string({ unit: "binary" }),
      type: fc.string(),
      options: fc.string(),
      help: fc.string({ unit: "grapheme" }),
      group: fc.integer(),
      flag: fc.integer({ min: 0, max: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(item), async (items) => {
        const secret = { settings: items.map((one) => ({ ...one, secret: true })) };
        const text = await writeBackup({ ...content, ...secret }, { mode: "clear" }, cipher);
        expect((await read(text)).settings).toEqual(items);
      }),
    );
  });
});

describe("a sealed backup", async () => {
  const text = await write({ mode: "seal", passphrase });
  const document = JSON.parse(text);
  const changed = (change: object) => JSON.stringify({ ...document, ...change });
  const resealed = (change: object) => changed({ secrets: { ...document.secrets, ...change } });

  test("shows the keys of secrets, and opens with its passphrase", async () => {
    expect(text).not.toContain(secretValue);
    expect(document.secrets).toMatchObject({ keys: ["aria2_secret"], ...CHEAP });
    const { settings: back, skipped } = await read(text, { passphrase });
    expect(back.find(({ key }) => key === "aria2_secret")?.value).toBe(secretValue);
    expect(back).toHaveLength(3);
    expect(skipped).toEqual([]);
  });

  test("needs 128 MiB of memory to open by default", async () => {
    const usual = createPassphraseCipher(randomBytes);
    const { secrets } = JSON.parse(await writeBackup(content, { mode: "seal", passphrase }, usual));
    expect(secrets).toMatchObject({ n: 131_072, r: 8, p: 1 });
  });

  test("without a passphrase gives the other settings and lists the omitted keys", async () => {
    const { settings: back, skipped } = await read(text);
    expect(keysOf(back)).toEqual(["site_title", "my_own"]);
    expect(skipped).toEqual([{ key: "aria2_secret", reason: "is sealed; give the passphrase" }]);
  });

  test("refuses another passphrase and does not repeat it", async () => {
    const failure = await failureOf(() => read(text, { passphrase: "another passphrase" }));
    expect(failure.code).toBe(Code.InvalidArgument);
    expect(failure.message).toMatch(/cannot be opened/);
    expect(failure.message).not.toContain("another passphrase");
  });

  test("opens with the same passphrase in another Unicode normalization", async () => {
    const composed = await write({ mode: "seal", passphrase: "caf\u00e9 passphrase" });
    const { settings: back } = await read(composed, { passphrase: "cafe\u0301 passphrase" });
    expect(back).toHaveLength(3);
  });

  test("is refused with a changed header, list of keys or ciphertext", async () => {
    const sealed = Buffer.from(document.secrets.sealed, "base64");
    sealed[3] = (sealed[3] ?? 0) ^ 1;
    for (const tampered of [
      changed({ revision: 8 }),
      changed({ databaseId: "db2" }),
      changed({ created: "2026-01-03T00:00:00.000Z" }),
      resealed({ keys: ["token"] }),
      resealed({ n: 2 ** 15 }),
      resealed({ sealed: sealed.toString("base64") }),
    ])
      expect((await failureOf(() => read(tampered, { passphrase }))).message).toMatch(
        /cannot be opened/,
      );
  });

  test("allows edits of the plain settings", async () => {
    const edited = changed({ settings: [setting({ key: "site_title", value: "Other" })] });
    expect((await read(edited, { passphrase })).settings).toHaveLength(2);
  });

  test.each([
    { n: 2 ** 30 },
    { n: 2 ** 10 },
    { n: 100_000 },
    { n: 2 ** 17 + 0.5 },
    { n: -1 },
    { r: 1024 },
    { p: 1000 },
    { p: 0.5 },
    { n: 2 ** 18, p: 2 },
    { n: 2 ** 17, p: 4 },
  ])("is refused before key derivation with the parameters %j", async (cost) => {
    const failure = await failureOf(() => read(resealed(cost), { passphrase }));
    expect(failure.message).toMatch(/require scrypt with/);
  });

  test.each([
    { salt: "" },
    { nonce: "AAAA" },
    { sealed: "AAAA" },
    { salt: Buffer.alloc(65).toString("base64") },
  ])("is refused when it is incomplete: %j", async (part) => {
    const failure = await failureOf(() => read(resealed(part), { passphrase }));
    expect(failure.message).toMatch(/incomplete/);
  });

  test.each([{ cipher: "aes-128-cbc" }, { kdf: "pbkdf2" }])(
    "is refused with another algorithm: %j",
    async (part) => {
      const failure = await failureOf(() => read(resealed(part), { passphrase }));
      expect(failure.message).toMatch(/does not support/);
    },
  );

  test("needs a passphrase of 8 characters", async () => {
    const failure = await failureOf(() => write({ mode: "seal", passphrase: "seven77" }));
    expect(failure.message).toBe("a passphrase must have at least 8 characters");
  });

  test("is opened or sealed one at a time", async () => {
    const texts = await Promise.all([1, 2, 3].map(() => write({ mode: "seal", passphrase })));
    for (const one of texts) expect((await read(one, { passphrase })).settings).toHaveLength(3);
  });
});

describe("a document of another format", () => {
  const base = { format: "mooring-settings", version: 1, settings: [] };
  test.each([
    [{ ...base, version: 2 }, /written by a newer Mooring/],
    [{ ...base, version: "1" }, /"version"/],
    [{ ...base, version: undefined }, /"version"/],
    [{ ...base, created: 5 }, /"created"/],
    [{ ...base, revision: 1.5 }, /"revision"/],
    [{ ...base, settings: undefined }, /"settings" in this backup must be an array/],
    [{ ...base, omitted: "token" }, /"omitted"/],
    [{ ...base, secrets: [] }, /"secrets"/],
    [{ ...base, secrets: { keys: [] } }, /must have the texts/],
    [{ ...base, format: "other" }, /unknown JSON format/],
    ["mooring-settings", /unknown JSON format/],
  ])("%j is refused with the reason", async (document, message) => {
    expect((await failureOf(() => read(JSON.stringify(document)))).message).toMatch(message);
  });

  test("all invalid members of settings are reported at once, without their values", async () => {
    const wrong = [
      { key: "a", value: 5 },
      { value: "leak" },
      "leak",
      { key: "b", value: "x", group: 1.5, flag: "leak" },
      { key: "c", value: null, help: null },
    ];
    const failure = await failureOf(() => read(JSON.stringify({ ...base, settings: wrong })));
    expect(failure.violations.map(({ field }) => field)).toEqual([
      "settings[0].value",
      "settings[1].key",
      "settings[2]",
      "settings[3].group",
      "settings[3].flag",
    ]);
    expect(JSON.stringify(failure.violations)).not.toContain("leak");
  });
});
