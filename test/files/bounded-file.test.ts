import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "mooring-bounded-file-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(import.meta.dirname, "../../src/files/bounded-file.ts");

/** Reads in a separate process: a blocked read is ended and fails the test. */
function read(name: string, maxBytes = 10): string {
  const program = `
    import { readBoundedFile } from ${JSON.stringify(file)};
    try { process.stdout.write(readBoundedFile(process.argv[1], ${maxBytes})); }
    catch (error) { process.stdout.write(error.message); }`;
  const args = ["--input-type=module", "--eval", program, join(folder, name)];
  return execFileSync(process.execPath, args, { timeout: 20_000, encoding: "utf8" });
}

describe("a bounded file", () => {
  writeFileSync(join(folder, "ten"), "0123456789");
  writeFileSync(join(folder, "empty"), "");
  mkdirSync(join(folder, "folder"));
  symlinkSync("loop", join(folder, "loop"));
  symlinkSync("/dev/zero", join(folder, "device"));
  symlinkSync("/proc/self/status", join(folder, "sizeless"));
  execFileSync("mkfifo", [join(folder, "pipe")]);

  test.each([
    ["ten", "0123456789"],
    ["empty", ""],
    ["folder", "is not a file"],
    ["loop", "is a link to itself"],
    ["device", "is not a file"],
    ["pipe", "is not a file"],
    // Its size is reported as 0: only the bytes read count.
    ["sizeless", "has more than 10 bytes"],
    ["none", "does not exist"],
  ])("%s: %s", (name, expected) => {
    expect(read(name)).toBe(expected);
  });

  test("with one byte more is refused", () => {
    expect(read("ten", 9)).toBe("has more than 9 bytes");
  });
});
