import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";
import { temporaryFolder } from "../temporary.ts";

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
  const shell = 'ulimit -n 64; exec "$0" --input-type=module --eval "$1" "$2"';
  const path = join(temporaryFolder(), "mooring.db");
  const { stdout, stderr } = spawnSync("sh", ["-c", shell, process.execPath, SCRIPT, path], {
    encoding: "utf8",
  });
  expect(stdout, stderr).toContain("too many files are open: raise the limit of open files");
  expect(stdout).not.toContain("right to read");
});
