// Makes dist/: the program as JavaScript beside its data, the generated code and package.json.
import { spawnSync } from "node:child_process";
import { cpSync, rmSync } from "node:fs";

rmSync("dist", { recursive: true, force: true });
const { status } = spawnSync("tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
for (const path of ["gen", "src/data", "package.json"])
  cpSync(path, `dist/${path}`, { recursive: true });
process.exitCode = status ?? 1;
