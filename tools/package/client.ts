// Builds mooring-client-VERSION.tgz: the contract for TypeScript and JavaScript.
import { copyFileSync, cpSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { modules, readManifest, root, run } from "./step.ts";

/** Packages of which a program with the client needs one. */
const TRANSPORTS = ["@connectrpc/connect-node", "@connectrpc/connect-web"];

/**
 * The client as JavaScript with declarations: Node does not strip types in packages.
 *
 * @param target folder of the package.
 */
export function makeClientPackage(target: string): void {
  const folder = join(target, "client-package");
  rmSync(folder, { recursive: true, force: true });
  run("tsc", ["-p", join(root, "src/client/tsconfig.json"), "--outDir", folder], root);
  for (const part of ["google", "mooring"])
    cpSync(join(root, "gen", part), join(folder, "gen", part), { recursive: true });
  for (const paper of ["src/client/README.md", "LICENSE"])
    copyFileSync(join(root, paper), join(folder, basename(paper)));
  const { name, version, license, type } = readManifest(root);
  const at = (file: string) => ({
    types: `./src/client/${file}.d.ts`,
    default: `./src/client/${file}.js`,
  });
  const versionOf = (one: string): string => readManifest(join(modules, one)).version;
  const own = {
    name: `${name}-client`,
    version,
    license,
    type,
    description: "Client of Mooring for Node.js and browsers",
    exports: { ".": at("mooring"), "./node": at("node"), "./web": at("web") },
    dependencies: Object.fromEntries(
      ["@bufbuild/protobuf", "@connectrpc/connect"].map((one) => [one, `^${versionOf(one)}`]),
    ),
    peerDependencies: Object.fromEntries(TRANSPORTS.map((one) => [one, `^${versionOf(one)}`])),
    peerDependenciesMeta: Object.fromEntries(TRANSPORTS.map((one) => [one, { optional: true }])),
  };
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(own, null, 2)}\n`);
  run("npm", ["pack", "--pack-destination", target], folder);
  rmSync(folder, { recursive: true });
}
