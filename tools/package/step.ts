// Steps that all packages share.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "../..");
export const modules = join(root, "node_modules");

/** The members of a package.json that packages read. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly description?: string;
  readonly license?: string;
  readonly type?: string;
  readonly engines?: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function readManifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
}

/** Runs a program to its end. */
export function run(
  command: string,
  args: readonly string[],
  cwd: string,
  variables: Readonly<Record<string, string>> = {},
): void {
  // Always the production mode: a development build of the console contains paths of source files.
  const env = { ...process.env, NODE_ENV: "production", ...variables };
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    env,
    encoding: "utf8",
  });
  if (error !== undefined) throw new Error(`${command} cannot be run: ${error.message}`);
  // The compiler prints its errors on stdout.
  if (status !== 0) throw new Error(`${command} ${args.join(" ")}: ${stderr}${stdout}`);
}

/**
 * Writes a reproducible archive: sorted names, one fixed time, one owner. It is compressed if its
 * name ends in `.gz`.
 *
 * @param owner user and group of all files; default: root.
 */
export function writeTar(
  file: string,
  content: {
    readonly folder: string;
    readonly paths: readonly string[];
    readonly owner?: string;
  },
): void {
  const { folder, paths, owner = "0" } = content;
  const plain = ["--sort=name", `--owner=${owner}`, `--group=${owner}`, "--numeric-owner"];
  run("tar", [...plain, "--mtime=@0", "--auto-compress", "-cf", file, ...paths], folder);
}
