import { createHash, randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { idOf, isWellFormed, makeToken, secretOf } from "../../src/access/token-text.ts";

test("a token has its own format and can be parsed", () => {
  for (let round = 0; round < 200; round += 1) {
    const { id, text, hash } = makeToken(randomBytes);
    expect(text).toMatch(/^mrg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/);
    expect(idOf(text)).toBe(id);
    expect(isWellFormed(text)).toBe(true);
    expect(hash).toBe(createHash("sha256").update(secretOf(text)).digest("base64url"));
  }
});

test("a mistyped token is detected without a look-up", () => {
  const { text } = makeToken(randomBytes);
  for (let at = 0; at < text.length; at += 1) {
    const other = text[at] === "a" ? "b" : "a";
    expect(isWellFormed(text.slice(0, at) + other + text.slice(at + 1)), `at ${at}`).toBe(false);
  }
  for (const wrong of ["", "mrg_", text.slice(1), `${text}a`, text.toLowerCase()])
    expect(isWellFormed(wrong)).toBe(false);
});

test("the largest and the smallest secret are encoded", () => {
  for (const byte of [0, 255]) {
    const { text } = makeToken((size) => Buffer.alloc(size, byte));
    expect(isWellFormed(text)).toBe(true);
  }
});

test("the format of a token is stable between versions", () => {
  const { text, hash } = makeToken((size) => Buffer.alloc(size, 7));
  expect([text, hash]).toEqual([
    "mrg_2USBDPIBEdi3_1fJjkkpe9PiTw9KSulA8Ghct30vZz4HpdQ5c5b9cPF147uzzG",
    "7mQEjamg4BBiiK2o4WRSNc8UeKc-v3aCHey15_DEFqg",
  ]);
});
