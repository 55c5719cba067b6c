import { createSecretKey, randomBytes } from "node:crypto";
import { Code } from "@connectrpc/connect";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createSealer } from "../../src/secrets/sealer.ts";
import { anyText } from "../any-text.ts";
import { failureOf } from "../thrown.ts";

const hexKey = randomBytes(32).toString("hex");
const otherKey = randomBytes(32).toString("base64");
const value = "a secret that no message may show";

describe("a sealer with a key", () => {
  const sealer = createSealer([hexKey]);

  test("opens what it sealed, for any key and value", () => {
    fc.assert(
      fc.property(anyText(), fc.string({ unit: "grapheme" }), (key, plain) => {
        const stored = sealer.seal(key, plain);
        expect(sealer.isSealed(stored)).toBe(true);
        expect(sealer.open(key, stored)).toBe(plain);
      }),
    );
  });

  test("shows neither the value nor that two values are equal", () => {
    const [a, b] = [sealer.seal("k", value), sealer.seal("k", value)];
    expect(a).toMatch(/^sealed:v1:[0-9a-f]{12}:[A-Za-z0-9_-]+$/);
    expect(a).not.toBe(b);
    expect(Buffer.from(a.split(":")[3] ?? "", "base64url").toString("latin1")).not.toContain("no");
  });

  test("opens values from before it had a key, and reports that they need sealing", () => {
    expect(sealer.open("k", "in the clear")).toBe("in the clear");
    expect(sealer.needsReseal("in the clear")).toBe(true);
    expect(sealer.needsReseal(sealer.seal("k", value))).toBe(false);
  });

  test("refuses a value that was copied from another setting, and names the setting", () => {
    const stored = sealer.seal("aria2_secret", value);
    expect(() => sealer.open("token", stored)).toThrow(/"token" cannot be opened/);
  });

  test("refuses a value with any one character changed, and never shows it", () => {
    const stored = sealer.seal("k", value);
    const start = stored.lastIndexOf(":") + 1;
    for (let at = start; at < stored.length; at += 1) {
      const changed = `${stored.slice(0, at)}${stored[at] === "A" ? "B" : "A"}${stored.slice(at + 1)}`;
      // Some bits of the last character are unused in base64url.
      if (Buffer.from(changed, "base64url").equals(Buffer.from(stored, "base64url"))) continue;
      expect(() => sealer.open("k", changed)).toThrow(/changed in the database/);
    }
  });

  test.each(["sealed:", "sealed:v2:abc:def", "sealed:v1:0:AAAA", "sealed:v1:short"])(
    "reports that %s cannot be opened",
    async (stored) => {
      const failure = await failureOf(() => sealer.open("some_key", stored));
      expect(failure).toMatchObject({
        code: Code.DataLoss,
        message: expect.stringMatching(/"some_key" cannot be opened/),
      });
    },
  );

  test("refuses a value that is too short for a nonce and a tag", () => {
    const [head] = sealer.seal("k", "").split(/:(?=[^:]*$)/);
    expect(() => sealer.open("k", `${head}:AAAA`)).toThrow(/cannot be opened/);
  });
});

describe("rotation", () => {
  test("the first key seals and all open; a value of an older key needs to be sealed again", () => {
    const old = createSealer([otherKey]);
    const rotated = createSealer([hexKey, otherKey]);
    const stored = old.seal("k", value);
    expect(rotated.open("k", stored)).toBe(value);
    expect(rotated.needsReseal(stored)).toBe(true);
    const anew = rotated.seal("k", value);
    expect(rotated.needsReseal(anew)).toBe(false);
    expect(createSealer([hexKey]).open("k", anew)).toBe(value);
  });

  test("a missing key is reported by its id, with the setting and the remedy", () => {
    const stored = createSealer([otherKey]).seal("aria2_secret", value);
    const id = stored.split(":")[2];
    const gone = () => createSealer([hexKey]).open("aria2_secret", stored);
    expect(gone).toThrow(`"aria2_secret" is sealed with the key ${id}`);
    expect(gone).toThrow(/MOORING_SECRET_KEY/);
    expect(() => createSealer([]).open("k", stored)).toThrow(/no sealing key is configured/);
  });
});

describe("a sealer without keys", () => {
  const sealer = createSealer([]);

  test("keeps values unchanged", () => {
    expect(sealer.seal("k", value)).toBe(value);
    expect(sealer.needsReseal(value)).toBe(false);
  });

  test("returns every value, also one that looks sealed or escaped", () => {
    const looks = fc.constantFrom(
      "",
      "sealed:",
      "sealed:v1:",
      "plain:",
      "plain:v1:",
      "plain:v1:sealed:",
    );
    fc.assert(
      fc.property(looks, fc.string(), (prefix, rest) => {
        const stored = sealer.seal("k", prefix + rest);
        expect(sealer.isSealed(stored)).toBe(false);
        expect(sealer.open("k", stored)).toBe(prefix + rest);
        expect(createSealer([hexKey]).open("k", stored)).toBe(prefix + rest);
      }),
    );
  });
});

describe("a configured key", () => {
  test("is the same in hexadecimal, in base64 and as a key object", () => {
    const bytes = Buffer.from(hexKey, "hex");
    const stored = createSealer([hexKey]).seal("k", value);
    for (const form of [
      hexKey.toUpperCase(),
      bytes.toString("base64"),
      bytes.toString("base64url"),
      createSecretKey(bytes),
    ])
      expect(createSealer([form]).open("k", stored)).toBe(value);
  });

  test("may be any text of 32 characters", () => {
    const text = "thirty-two characters, so enough";
    expect(text).toHaveLength(32);
    expect(createSealer([text]).open("k", createSealer([text]).seal("k", value))).toBe(value);
  });

  test.each([["brief"], [hexKey.slice(1, 30)], [createSecretKey(Buffer.alloc(16, 1))]])(
    "is refused when it is too short, by its number and without its text",
    (key) => {
      const create = () => createSealer([hexKey, key]);
      expect(create).toThrow(/^sealing key number 2 is too short/);
      if (typeof key === "string") expect(create).not.toThrow(key);
    },
  );
});
