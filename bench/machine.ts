import { readFileSync, statfsSync } from "node:fs";
import { cpus, release, tmpdir, totalmem } from "node:os";
import type { Program } from "./program.ts";
import { LOAD_CORE, type Stage } from "./stage.ts";

/** Machine and programs of a run. */
export interface Head {
  readonly time: string;
  readonly command: string;
  readonly machine: string;
  readonly disk: string;
  readonly versions: Readonly<Record<string, string>>;
}

const LIBRARIES = [
  "@grpc/grpc-js",
  "@connectrpc/connect",
  "@connectrpc/connect-fastify",
  "@connectrpc/connect-node",
  "@bufbuild/protobuf",
  "fastify",
  "better-sqlite3",
];

/** Programs, with the arguments that print the version and its position in the output. */
const PROGRAMS = {
  wrk: [["-v"], /wrk (?:debian\/)?(\S+)/],
  h2load: [["--version"], /nghttp2\/(\S+)/],
} as const satisfies Partial<Record<Program, readonly [readonly string[], RegExp]>>;

/** File systems in memory (statfs(2)), where durable commits are free. */
const MEMORY_FILE_SYSTEMS = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
]);

/** Describes the machine. @param command command line of the bench. */
export async function describeMachine(
  stage: Stage,
  missing: readonly Program[],
  command: string,
): Promise<Head> {
  const [processor] = cpus();
  const gigabytes = Math.round(totalmem() / 1e9);
  return {
    time: new Date().toISOString(),
    // Paths of files are omitted.
    command: command.replace(/ (--json|--server|--profile) \S+/g, " $1 …"),
    machine: `${cpus().length} × ${processor?.model ?? "unknown processor"}, ${gigabytes} GB, Linux ${release()}`,
    disk: describeDisk(tmpdir()),
    versions: { node: process.versions.node, ...libraries(), ...(await programs(stage, missing)) },
  };
}

function describeDisk(folder: string): string {
  const memory = MEMORY_FILE_SYSTEMS.get(statfsSync(folder).type);
  return memory === undefined
    ? "databases on a disk"
    : `databases in ${folder}, which is ${memory}: commits cost no disk there, set TMPDIR to a folder on a disk`;
}

function libraries(): Record<string, string> {
  return Object.fromEntries(
    LIBRARIES.map((name) => {
      const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
      const { version } = JSON.parse(readFileSync(file, "utf8")) as { version: string };
      return [name, version];
    }),
  );
}

async function programs(
  stage: Stage,
  missing: readonly Program[],
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [program, [args, pattern]] of Object.entries(PROGRAMS)) {
    if (missing.includes(program as Program)) continue;
    const output = await versionOutput(stage, program, args);
    found[program] = pattern.exec(output)?.[1] ?? "unknown";
  }
  return found;
}

/** wrk prints its version and fails. */
async function versionOutput(
  stage: Stage,
  program: string,
  args: readonly string[],
): Promise<string> {
  const command = { program: "sh", args: ["-c", `${program} ${args.join(" ")} 2>&1; true`] };
  return stage.run({ ...command, cores: LOAD_CORE });
}
