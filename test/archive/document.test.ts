import { randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type SecretsMode, writeArchive } from "../../src/archive/document.ts";
import type { ArchiveEntry } from "../../src/archive/part.ts";
import { createPassphraseCipher } from "../../src/archive/passphrase.ts";
import { anyJson, anyText } from "../any-text.ts";
import { failureOf } from "../thrown.ts";
import { CHEAP, entry, quickKey, readText } from "./text.ts";

const cipher = createPassphraseCipher(randomBytes, CHEAP, quickKey);
/** Derives keys by scrypt. */
const realCipher = createPassphraseCipher(randomBytes, CHEAP);
const passphrase = "a long passphrase";
const secretValue = "hush, this is not for everybody";

const title = entry("site_title", { value: "Harbour", group: 1 });
const secret = entry("aria2_secret", { group: 5 }, { value: secretValue });
const site = entry("home", { url: "https://home.example", paused: false }, { token: "t0ken" });

const origin = {
  mooring: "v1",
  databaseId: "db1",
  revision: 7,
  time: Date.UTC(2026, 0, 2),
};

async function write(
  secrets: SecretsMode,
  settings: readonly ArchiveEntry[] = [title, secret],
  sites: readonly ArchiveEntry[] = [site],
): Promise<string> {
  const sections = [
    { part: "settings", identifier: "key", entries: settings },
    { part: "sites", identifier: "name", entries: sites },
  ];
  const document = await writeArchive({ origin, sections, leftOut: [] }, secrets, cipher);
  return JSON.stringify(document, null, 2);
}

/** Entries of a part. */
async function read(text: string, given = "", part = "settings") {
  const source = await readText(text, given, cipher);
  return source.given.get(part)?.entries ?? [];
}

describe("an archive without secrets", () => {
  test("names them with their entries, and begins with its header", async () => {
    const text = await write({ mode: "omit" });
    expect(text).not.toContain(secretValue);
    expect(Object.entries(JSON.parse(text))).toEqual(
      Object.entries({
        format: "mooring-archive",
        version: 1,
        created: "2026-01-02T00:00:00.000Z",
        mooring: "v1",
        databaseId: "db1",
        revision: 7,
        secrets: "omitted",
        counts: { settings: 2, sites: 1 },
        leftOut: [],
        settings: [
          { key: "site_title", value: "Harbour", group: 1 },
          { key: "aria2_secret", group: 5, omitted: ["value"] },
        ],
        sites: [{ name: "home", url: "https://home.example", paused: false, omitted: ["token"] }],
      }),
    );
    expect(await read(text)).toEqual([title, { ...secret, secrets: {}, missing: ["value"] }]);
  });
});

/** Entries with names and secrets in any script, and any JSON as content. */
const entries = fc.uniqueArray(
  fc.record({
    name: anyText({ minLength: 1 }),
    content: fc.dictionary(
      fc.string().filter((name) => !["key", "name", "secrets", "sealed", "omitted"].includes(name)),
      anyJson(),
    ),
    secrets: fc.dictionary(anyText(), fc.oneof(anyText(), fc.integer(), fc.boolean())),
    missing: fc.constant([]),
    isSealed: fc.constant(false),
  }),
  { selector: ({ name }) => name },
);

describe("an archive with secrets", () => {
  const asMap = (value: unknown): unknown =>
    JSON.stringify(value, (_, each: unknown) =>
      typeof each === "object" && each !== null && !Array.isArray(each)
        ? Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))
        : each,
    );

  test("in the clear is read as it was written, for any text", async () => {
    await fc.assert(
      fc.asyncProperty(entries, async (items) => {
        const text = await write({ mode: "clear" }, items);
        expect(asMap(await read(text))).toEqual(asMap(items));
      }),
    );
  });

  test("that are sealed is read as it was written, also with its members in another order", async () => {
    const shuffled = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffled);
      if (typeof value !== "object" || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, each]) => [name, shuffled(each)]),
      );
    };
    await fc.assert(
      fc.asyncProperty(entries, async (items) => {
        const text = await write({ mode: "seal", passphrase }, items);
        expect(asMap(await read(text, passphrase))).toEqual(asMap(items));
        const other = JSON.stringify(shuffled(JSON.parse(text)));
        expect(asMap(await read(other, passphrase))).toEqual(asMap(items));
      }),
      { numRuns: 20 },
    );
  });
});

describe("a sealed archive", async () => {
  const text = await write({ mode: "seal", passphrase });
  const document = JSON.parse(text);
  const changed = (change: object) => JSON.stringify({ ...document, ...change });
  const resealed = (change: object) => changed({ sealed: { ...document.sealed, ...change } });

  test("names the secrets, and opens with its passphrase", async () => {
    expect(text).not.toContain(secretValue);
    expect(document.sealed).toMatchObject(CHEAP);
    expect(document.settings[1]).toEqual({ key: "aria2_secret", group: 5, sealed: ["value"] });
    expect(await read(text, passphrase)).toEqual([title, secret]);
    expect(await read(text, passphrase, "sites")).toEqual([site]);
  });

  test("needs 128 MiB of memory to open by default", async () => {
    const usual = createPassphraseCipher(randomBytes);
    const written = await writeArchive(
      { origin, sections: [], leftOut: [] },
      { mode: "seal", passphrase },
      usual,
    );
    expect(written.sealed).toMatchObject({ n: 131_072, r: 8, p: 1 });
  });

  test("without a passphrase gives everything else, and names what is sealed", async () => {
    expect(await read(text)).toEqual([
      title,
      { ...secret, secrets: {}, missing: ["value"], isSealed: true },
    ]);
  });

  test("refuses another passphrase and does not repeat it", async () => {
    const failure = await failureOf(() => read(text, "another passphrase"));
    expect(failure.code).toBe(Code.InvalidArgument);
    expect(failure.message).toMatch(/cannot be opened/);
    expect(failure.message).not.toContain("another passphrase");
  });

  test("opens with the same passphrase in another Unicode normalization", async () => {
    const composed = await realCipher.seal("caf\u00e9 passphrase", "text", "header");
    expect(await realCipher.open("cafe\u0301 passphrase", composed, "header")).toBe("text");
  });

  test("is refused when its header, an entry with secrets or the ciphertext was changed", async () => {
    const sealed = Buffer.from(document.sealed.sealed, "base64");
    sealed[3] = (sealed[3] ?? 0) ^ 1;
    const [home] = document.sites;
    for (const tampered of [
      changed({ revision: 8 }),
      changed({ databaseId: "db2" }),
      changed({ created: "2026-01-03T00:00:00.000Z" }),
      changed({ sites: [{ ...home, url: "https://attacker.example" }] }),
      changed({ sites: [{ ...home, name: "other" }] }),
      changed({ sites: [{ ...home, sealed: ["token", "overrides/x"] }] }),
      changed({ sites: [] }),
      changed({ sites: [], settings: document.settings, webhooks: [home] }),
      resealed({ n: 2 ** 15 }),
      resealed({ sealed: sealed.toString("base64") }),
    ])
      expect((await failureOf(() => read(tampered, passphrase))).message).toMatch(
        /cannot be opened/,
      );
  });

  test("allows edits of entries without secrets, and new ones", async () => {
    const settings = [
      { key: "site_title", value: "Other" },
      document.settings[1],
      { key: "new", value: "1" },
    ];
    expect((await read(changed({ settings }), passphrase)).map(({ name }) => name)).toEqual([
      "site_title",
      "aria2_secret",
      "new",
    ]);
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
    const failure = await failureOf(() => read(resealed(cost), passphrase));
    expect(failure.message).toMatch(/require scrypt with/);
  });

  test.each([
    { salt: "" },
    { nonce: "AAAA" },
    { sealed: "AAAA" },
    { salt: Buffer.alloc(65).toString("base64") },
  ])("is refused when it is incomplete: %j", async (part) => {
    const failure = await failureOf(() => read(resealed(part), passphrase));
    expect(failure.message).toMatch(/incomplete/);
  });

  test.each([{ cipher: "aes-128-cbc" }, { kdf: "pbkdf2" }])(
    "is refused with another algorithm: %j",
    async (part) => {
      const failure = await failureOf(() => read(resealed(part), passphrase));
      expect(failure.message).toMatch(/does not support/);
    },
  );

  test("needs a passphrase of 8 characters", async () => {
    const failure = await failureOf(() => write({ mode: "seal", passphrase: "seven77" }));
    expect(failure.message).toBe("a passphrase must have at least 8 characters");
  });

  test("is opened or sealed one at a time", async () => {
    const texts = await Promise.all([1, 2, 3].map(() => write({ mode: "seal", passphrase })));
    for (const one of texts) expect(await read(one, passphrase)).toHaveLength(2);
  });
});

describe("a sealed archive that was edited", () => {
  /** Changes an entry of a part. */
  const edited = async (
    part: string,
    change: (entry: Record<string, unknown>) => object,
  ): Promise<string> => {
    const lost = { ...site, missing: ["overrides/aria2_secret"] };
    const text = await write({ mode: "seal", passphrase }, [title, secret], [lost]);
    const document = JSON.parse(text) as Record<string, Record<string, unknown>[]>;
    const [first = {}, ...rest] = document[part] ?? [];
    return JSON.stringify({ ...document, [part]: [change(first), ...rest] });
  };

  test.each<[string, string, object]>([
    ["beside a sealed secret", "sites", { secrets: { "config/address": "https://evil.example" } }],
    ["in an entry without any", "settings", { secrets: { value: "evil" } }],
  ])("is refused if it has secrets in the clear %s", async (_where, part, more) => {
    const text = await edited(part, (before) => ({ ...before, ...more }));
    for (const given of [passphrase, ""]) {
      const failure = await failureOf(() => read(text, given));
      expect(failure.message).toContain(`${part}[0]`);
      expect(failure.message).toContain("in the clear");
    }
  });

  test.each([
    ["added", ["overrides/aria2_secret", "overrides/qbittorrent_url"]],
    ["removed", []],
  ])("is refused if a missing secret was %s", async (_change, omitted) => {
    expect(await read(await edited("sites", (before) => before), passphrase)).toHaveLength(2);
    const text = await edited("sites", (before) => ({ ...before, omitted }));
    const failure = await failureOf(() => read(text, passphrase));
    expect(failure.message).toContain("changed after it was written");
  });
});

describe("a document of another form", () => {
  const base = { format: "mooring-archive", version: 1, settings: [] };
  test.each([
    [{ ...base, version: 2 }, /written by a newer Mooring/],
    [{ ...base, version: "1" }, /"version"/],
    [{ ...base, version: undefined }, /"version"/],
    [{ ...base, created: 5 }, /"created"/],
    [{ ...base, revision: 1.5 }, /"revision"/],
    [{ ...base, settings: 5 }, /"settings" in this backup must be an array/],
    [{ ...base, sealed: [] }, /"sealed" in this backup must be an object/],
    [{ ...base, sealed: { cipher: "x" } }, /must have the texts/],
    [{ ...base, format: "other" }, /unknown JSON format/],
    ["mooring-archive", /unknown JSON format/],
  ])("%j is refused with the reason", async (document, message) => {
    const failure = await failureOf(() => read(JSON.stringify(document), passphrase));
    expect(failure.message).toMatch(message);
  });

  test("all invalid entries are reported at once, without their values", async () => {
    const wrong = [
      { value: "leak" },
      "leak",
      { key: "", value: "leak" },
      { key: "a", secrets: ["leak"] },
      { key: "b", secrets: { value: { leak: 1 } } },
      { key: "c", sealed: "leak" },
      { key: "d", omitted: [5] },
      { key: "e", value: "right" },
    ];
    const failure = await failureOf(() => read(JSON.stringify({ ...base, settings: wrong })));
    expect(failure.violations.map(({ field }) => field)).toEqual(
      [0, 1, 2, 3, 4, 5, 6].map((at) => `settings[${at}]`),
    );
    expect(String(failure.violations.map(({ description }) => description))).not.toContain("leak");
  });

  test("the last of equal names counts", async () => {
    const settings = [1, 2].map((value) => ({ key: "twice", value: `${value}` }));
    const found = await read(JSON.stringify({ ...base, settings }));
    expect(found.map(({ content }) => content)).toEqual([{ value: "2" }]);
  });

  test("parts of a newer version are named with their number of entries", async () => {
    const text = JSON.stringify({ ...base, rules: [{ name: "/a" }, { name: "/b" }], shares: [] });
    expect((await readText(text, "", cipher)).unread).toEqual([{ name: "rules", count: 2 }]);
  });
});
