// Flags that V8 reads at the start of a process are listed in three files.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NODE_FLAGS } from "../../src/app/memory-settings.ts";

const root = new URL("../../", import.meta.url);
const flags = NODE_FLAGS.join(" ");

test("workers, the launchers of the archives and npm start have the same Node flags", () => {
  const launcher = (path: string): string =>
    readFileSync(new URL(`packaging/launcher/${path}`, root), "utf8");
  for (const path of ["linux/mooring", "darwin/mooring"])
    expect(launcher(path)).toContain(`exec "$here/bin/node" ${flags} "$here/lib/src/main.js" "$@"`);
  expect(launcher("win/mooring.cmd")).toContain(
    `"%~dp0bin\\node.exe" ${flags} "%~dp0lib\\src\\main.js" %*`,
  );
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
    scripts: { start: string };
  };
  expect(scripts.start).toBe(`node ${flags} dist/src/main.js`);
});
