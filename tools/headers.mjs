// Removes Node's C++ headers (67 MB), which come with its npm package and are only needed to compile
// native modules: those of Mooring are compiled. Runs after npm ci, on any Node.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = fileURLToPath(new URL("../node_modules/node/node_modules", import.meta.url));
for (const name of existsSync(packages) ? readdirSync(packages) : [])
  if (name.startsWith("node-"))
    rmSync(join(packages, name, "include"), { recursive: true, force: true });
