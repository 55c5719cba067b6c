// Fails when gen/ differs from the code generated from the contract, or proto/google from the
// package that it comes from.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyGoogleProtos } from "./google-protos.ts";

const folder = mkdtempSync(join(tmpdir(), "mooring-generated-"));
copyGoogleProtos(join(folder, "proto"));
const generate = spawnSync("node", ["tools/buf.ts", "generate", "--output", folder], {
  stdio: "inherit",
});
const differences = ["gen", "proto/google"].map(
  (path) => spawnSync("diff", ["-r", path, join(folder, path)], { stdio: "inherit" }).status,
);
rmSync(folder, { recursive: true });
const status = generate.status || (differences.find((each) => each !== 0) ?? 0);
if (status !== 0)
  process.stderr.write("gen/ or proto/google/ differs: run npm run generate and commit it\n");
process.exitCode = status ?? 1;
