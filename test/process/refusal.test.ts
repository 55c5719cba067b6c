import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startedMooring, testFolder } from "./mooring.ts";

// Client and service each have a process: in one, the service would read all before it answers.
test.each(["close", "keep-alive"])(
  "a refusal reaches who goes on sending a large body (Connection: %s)",
  async (connection) => {
    const folder = await testFolder();
    const mooring = await startedMooring({ folder, env: { MOORING_WRONG_TOKENS: "0" } });
    const program = join(import.meta.dirname, "large-sender.ts");
    const args = [program, String(mooring.port()), connection];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(JSON.parse(stdout)).toEqual(new Array(40).fill(401));
  },
);
