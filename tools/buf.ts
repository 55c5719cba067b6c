// Runs buf with the plugin that generates code: `npm run buf -- lint`.
import { spawnSync } from "node:child_process";
import { developmentEnvironment, developmentProgram, installDevelopment } from "./development.ts";

installDevelopment();
const { status } = spawnSync(developmentProgram("buf"), process.argv.slice(2), {
  env: developmentEnvironment(),
  stdio: "inherit",
});
process.exitCode = status ?? 1;
