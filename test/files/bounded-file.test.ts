import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const folder = mkdtempSync(join(tmpdir(), "mooring-bounded-file-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = join(import.meta.dirname, "../../src/files/bounded-file.ts");

/** Content by name and maximum size, or the error. */
const CASES: readonly (readonly [name: string, maxBytes: number, result: string])[] = [
  ["ten", 10, "0123456789"],
  ["ten", 9, "has more than 9 bytes"],
  ["empty", 10, ""],
  ["folder", 10, "is not a file"],
  ["loop", 10, "is a link to itself"],
  ["device", 10, "is not a file"],
  ["pipe", 10, "is not a file"],
  // Its size is reported as 0: only the bytes read count.
  ["sizeless", 10, "has more than 10 bytes"],
  ["none", 10, "does not exist"],
];

/** Reads all in a separate process: a blocked read is ended and fails the tests. */
function readAll(): readonly string[] {
  const program = `
    import { readBoundedFile } from ${JSON.stringify(file)};
    const read = ([path, maxBytes]) => {
      try { return readBoundedFile(path, maxBytes).toString(); }
      catch (error) { return error.message; }
    };
    process.stdout.write(JSON.stringify(JSON.parse(process.argv[1]).map(read)));`;
  const files = JSON.stringify(CASES.map(([name, maxBytes]) => [join(folder, name), maxBytes]));
  const args = ["--input-type=module", "--eval", program, files];
  return JSON.parse(execFileSync(process.execPath, args, { timeout: 20_000, encoding: "utf8" }));
}

describe("a bounded file", () => {
  let results: readonly string[];

  beforeAll(() => {
    writeFileSync(join(folder, "ten"), "0123456789");
    writeFileSync(join(folder, "empty"), "");
    mkdirSync(join(folder, "folder"));
    symlinkSync("loop", join(folder, "loop"));
    symlinkSync("/dev/zero", join(folder, "device"));
    symlinkSync("/proc/self/status", join(folder, "sizeless"));
    execFileSync("mkfifo", [join(folder, "pipe")]);
    results = readAll();
  });

  test.each(CASES.map((each, at) => [...each, at] as const))(
    "%s, of at most %i bytes: %s",
    (_name, _maxBytes, expected, at) => {
      expect(results[at]).toBe(expected);
    },
  );
});
