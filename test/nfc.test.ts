import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { toNfc } from "../src/nfc.ts";

test("names are normalized, and longer texts stay as they are", () => {
  expect(toNfc("e\u0301")).toBe("\u00e9");
  const longest = "e\u0301".repeat(128);
  expect(toNfc(longest)).toBe("\u00e9".repeat(128));
  for (const text of [`${longest}e`, "a\u0301\u0316".repeat(100_000)])
    expect(toNfc(text)).toBe(text);
});

test("Unicode normalization, which takes quadratic time, is only applied to short texts", () => {
  const source = new URL("../src", import.meta.url).pathname;
  const files = readdirSync(source, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\.normalize\(("NF|\))/.test(readFileSync(path, "utf8")))
    .map((path) => relative(source, path));
  expect(files.sort()).toEqual([
    // At most 1,024 characters (archive/rpc.ts).
    "archive/passphrase.ts",
    // Arguments of a command.
    "cli/name-pattern.ts",
    // Bounded in the function itself.
    "client/share-text.ts",
    "mounts/site/adoption.ts",
    "nfc.ts",
    // Keys of at most 255 characters.
    "settings/custom.ts",
    "settings/definition.ts",
    // Each character by itself.
    "upstream/path-guard.ts",
  ]);
});
