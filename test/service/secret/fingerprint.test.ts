import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createFingerprint } from "../../../src/service/secret/fingerprint.ts";

const key = Buffer.alloc(32, 7);

test("a fingerprint is equal for equal values and differs for others", () => {
  const fingerprint = createFingerprint(key);
  expect(fingerprint("a")).toBe(createFingerprint(Buffer.from(key))("a"));
  expect(fingerprint("a")).not.toBe(fingerprint("b"));
  expect(fingerprint("")).not.toBe(fingerprint("a"));
});

test("a fingerprint is HMAC-SHA-256 in base64url with its form in front", () => {
  const hash = createHmac("sha256", key).update("ä").digest("base64url");
  expect(createFingerprint(key)("ä")).toBe(`hmac1:${hash}`);
});

test("another key gives other fingerprints", () => {
  expect(createFingerprint(Buffer.alloc(32, 8))("a")).not.toBe(createFingerprint(key)("a"));
});

test("a key that is too short is refused", () => {
  expect(() => createFingerprint(Buffer.alloc(31))).toThrow(/31 bytes/);
});
