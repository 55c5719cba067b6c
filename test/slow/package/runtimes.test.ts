import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, test } from "vitest";
import {
  copyPrograms,
  expectLibrary,
  generate,
  install,
  PREPARING,
  packGateway,
  run,
  startServer,
  VERSIONS,
} from "./gateway-package.ts";

// `restHandler` of the packed gateway on the runtimes that its page lists.

const PACKAGES = {
  bun: "1.4.5",
  deno: "2.9.6",
  hono: "4.13.19",
  "@hono/node-server": "2.1.9",
};

let folder: string;
let place: string;

beforeAll(() => {
  const packed = packGateway();
  folder = packed.folder;
  place = join(folder, "runtimes");
  install(place, packed.archive, { ...VERSIONS, ...PACKAGES });
  copyPrograms(place, "routes.mjs", "handler.mjs", "bun.mjs", "deno.mjs", "hono.mjs");
  // Its npm package needs this step, and is the only one whose script runs.
  run(place, process.execPath, "node_modules/bun/install.js");
  generate(place);
}, PREPARING);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Command lines that start the server of each runtime; it prints its address. */
const RUNTIMES: Readonly<Record<string, readonly string[]>> = {
  Bun: ["node_modules/.bin/bun", "bun.mjs"],
  Deno: [
    "node_modules/.bin/deno",
    "run",
    "--no-remote",
    "--node-modules-dir=manual",
    "--allow-net",
    "--allow-env",
    "deno.mjs",
  ],
  "Hono on Node.js": [process.execPath, "hono.mjs"],
};

describe.each(Object.entries(RUNTIMES))("%s", (_, [program = "", ...args]) => {
  test("serves REST, streams, Connect and errors", async () => {
    await expectLibrary(await startServer(place, program, ...args));
  });
});
