import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

/** Opens a database without a free file descriptor, and prints the failure. */
const SCRIPT = `
import { closeSync, openSync } from "node:fs";
const { openSqlite } = await import("./src/database/sqlite/open.ts");
const path = process.argv[1];
(await openSqlite(path)).close();
const open = [];
try {
  for (;;) open.push(openSync(path, "r"));
} catch (error) {
  if (error.code !== "EMFILE") throw error;
}
const failure = await openSqlite(path).then(() => "opened", (error) => error.message);
for (const each of open) closeSync(each);
console.log(failure);
`;

test("a database that cannot be opened for want of file descriptors names their limit", () => {
  const folder = mkdtempSync(join(tmpdir(), "mooring-descriptors-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const shell = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1" "$2"';
  const path = join(folder, "mooring.db");
  const { stdout, stderr } = spawnSync("sh", ["-c", shell, process.execPath, SCRIPT, path], {
    encoding: "utf8",
  });
  expect(stdout, stderr).toContain("too many files are open: raise the limit of open files");
  expect(stdout).not.toContain("right to read");
});
