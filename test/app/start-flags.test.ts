// Flags that V8 reads at the start of a process are listed in three files.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { NODE_FLAGS } from "../../src/app/supervisor.ts";

const root = new URL("../../", import.meta.url);
const flags = NODE_FLAGS.join(" ");

test("workers, the launcher of the Linux package and npm start have the same Node flags", () => {
  const launcher = readFileSync(new URL("packaging/linux/mooring", root), "utf8");
  expect(launcher).toContain(`exec "$here/bin/node" ${flags} "$here/lib/src/main.js" "$@"`);
  const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
    scripts: { start: string };
  };
  expect(scripts.start).toBe(`node ${flags} dist/src/main.js`);
});
