// Runs the program from its source and restarts it after changes. Also serves the console from its
// source with live reload, and forwards its calls to the program.
import { spawn } from "node:child_process";
import { createServer } from "vite";
import { consoleConfig } from "./console.ts";

const program = `http://${process.env["MOORING_LISTEN"] ?? "127.0.0.1:5244"}`;
const args = ["--watch", "src/main.ts", ...process.argv.slice(2)];
const child = spawn(process.execPath, args, { stdio: "inherit" });

const server = await createServer({
  ...consoleConfig,
  base: "/console/",
  server: {
    host: "127.0.0.1",
    port: 5245,
    fs: { allow: ["."] },
    proxy: { "/mooring.": { target: program }, "/api": { target: program } },
  },
});
await server.listen();
process.stdout.write(
  `the console, from its source: http://127.0.0.1:${server.config.server.port}/console/\n`,
);

child.once("exit", (code) => {
  void server.close().then(() => process.exit(code ?? 1));
});
for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.on(signal, () => void child.kill(signal));
