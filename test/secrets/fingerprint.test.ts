import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createFingerprint } from "../../src/secrets/fingerprint.ts";

const key = Buffer.alloc(32, 7);
const [OLD, NEW] = ["1".repeat(64), "2".repeat(64)];

test("a fingerprint is equal for equal values and differs for others", () => {
  for (const keys of [[], [OLD]]) {
    const fingerprint = createFingerprint(key, keys);
    expect(fingerprint.of("a")).toBe(createFingerprint(Buffer.from(key), keys).of("a"));
    expect(fingerprint.of("a")).not.toBe(fingerprint.of("b"));
    expect(fingerprint.of("")).not.toBe(fingerprint.of("a"));
    expect(fingerprint.isOf(fingerprint.of("a"), "a")).toBe(true);
    expect(fingerprint.isOf(fingerprint.of("a"), "b")).toBe(false);
  }
});

test("a fingerprint without a sealing key is HMAC-SHA-256 in base64url with a prefix for its form", () => {
  const hash = createHmac("sha256", key).update("ä").digest("base64url");
  expect(createFingerprint(key).of("ä")).toBe(`hmac1:${hash}`);
});

test("another key of the database or another sealing key gives other fingerprints", () => {
  expect(createFingerprint(Buffer.alloc(32, 8)).of("a")).not.toBe(createFingerprint(key).of("a"));
  const bodies = [
    createFingerprint(key, [OLD]),
    createFingerprint(key, [NEW]),
    createFingerprint(Buffer.alloc(32, 8), [OLD]),
    createFingerprint(key),
  ].map((fingerprint) => fingerprint.of("a").split(":").at(-1));
  expect(new Set(bodies).size).toBe(4);
});

test("a hash made without a sealing key is renewed to that of its value", () => {
  const sealed = createFingerprint(key, [OLD]);
  const before = createFingerprint(key).of("a");
  expect(sealed.isOf(before, "a")).toBe(true);
  expect(sealed.renew(before)).toBe(sealed.of("a"));
  expect(sealed.of("a").startsWith(sealed.form)).toBe(true);
  expect(sealed.renew(sealed.of("a"))).toBe(sealed.of("a"));
  expect(createFingerprint(key).isOf(sealed.of("a"), "a")).toBeUndefined();
  expect(createFingerprint(key).renew(sealed.of("a"))).toBe(sealed.of("a"));
  expect([createFingerprint(key).seals, sealed.seals]).toEqual([false, true]);
});

test("a hash made with an earlier sealing key is renewed to one that equals no value", () => {
  const before = createFingerprint(key, [OLD]);
  const now = createFingerprint(key, [NEW, OLD]);
  expect(now.isOf(before.of("a"), "a")).toBe(true);
  const renewed = now.renew(before.of("a"));
  expect(renewed.startsWith(now.form)).toBe(true);
  expect(renewed).toBe(now.renew(before.of("a")));
  expect(renewed).not.toBe(now.renew(before.of("b")));
  expect(renewed).not.toBe(now.of("a"));
  expect(now.isOf(renewed, "a")).toBeUndefined();
  // After a rotation back it is unknown as well.
  expect(before.isOf(before.renew(renewed), "a")).toBeUndefined();
});

test("a hash of a removed sealing key, or an invalid one, equals no value", () => {
  const fingerprint = createFingerprint(key, [OLD]);
  expect(fingerprint.isOf(createFingerprint(key, [NEW]).of("a"), "a")).toBeUndefined();
  expect(fingerprint.isOf("hmac1:short", "a")).toBe(false);
});

test("a key that is too short is refused", () => {
  expect(() => createFingerprint(Buffer.alloc(31))).toThrow(/31 bytes/);
  expect(() => createFingerprint(key, ["short"])).toThrow(/sealing key number 1 is too short/);
});
