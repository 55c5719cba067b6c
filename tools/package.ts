// Builds the distributed packages, in out/ or in a given folder:
//   mooring-VERSION.tgz                 an npm package: the command `mooring` for an installed Node
//   mooring-client-VERSION.tgz          the contract for TypeScript and JavaScript
//   mooring-gateway-VERSION.tgz         the gateway alone, for other services
//   mooring-VERSION-PLATFORM/           a self-contained folder with its own Node
//   mooring-VERSION-PLATFORM.tar.gz     the same in one file; for Windows .zip
// Without options: all packages and the archive for linux-x64. --only npm, client or gateway builds
// one of the packages; --platform NAME, which may be repeated, only archives: linux-x64,
// linux-arm64, darwin-arm64, win-x64, or all.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeArchives } from "./package/archive.ts";
import { makeClientPackage } from "./package/client.ts";
import { makeGatewayPackage } from "./package/gateway.ts";
import { makeNpmPackage } from "./package/npm.ts";
import { type PlatformName, platforms } from "./package/platform.ts";
import { root } from "./package/step.ts";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { only: { type: "string" }, platform: { type: "string", multiple: true } },
});
const target = resolve(positionals[0] ?? join(root, "out"));
const archives = archiveNames();
const packages: Readonly<Record<string, (target: string) => void | Promise<void>>> = {
  npm: makeNpmPackage,
  client: makeClientPackage,
  gateway: makeGatewayPackage,
};
if (values.only !== undefined && packages[values.only] === undefined)
  throw new Error(`--only is ${Object.keys(packages).join(", ")}; archives: --platform NAME`);

mkdirSync(target, { recursive: true });
for (const [name, make] of Object.entries(packages))
  if (values.platform === undefined && (values.only ?? name) === name) await make(target);
if (archives.length > 0) makeArchives(target, archives);

/** The platforms of archives. @throws Error for an unknown one. */
function archiveNames(): readonly PlatformName[] {
  const known = Object.keys(platforms) as PlatformName[];
  if (values.platform === undefined) return values.only === undefined ? ["linux-x64"] : [];
  if (values.platform.includes("all")) return known;
  return values.platform.map((name) => {
    const found = known.find((one) => one === name);
    if (found !== undefined) return found;
    throw new Error(`there is no platform ${name}: ${known.join(", ")}, all`);
  });
}
