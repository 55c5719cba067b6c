// Fails when gen/ differs from the code generated from the contract.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "mooring-generated-"));
const generate = spawnSync("buf", ["generate", "--output", folder], { stdio: "inherit" });
const diff = spawnSync("diff", ["-r", "gen", join(folder, "gen")], { stdio: "inherit" });
rmSync(folder, { recursive: true });
if (diff.status !== 0) process.stderr.write("gen/ differs: run npm run generate and commit it\n");
process.exitCode = generate.status || diff.status || 0;
