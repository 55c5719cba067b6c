import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { developmentProgram } from "../../../tools/development.ts";

const ROOT = join(import.meta.dirname, "../../..");
const GOOGLE = join(ROOT, "proto/google");

/** A compiled contract. */
export interface Compiled {
  readonly bytes: Uint8Array;
  readonly set: FileDescriptorSet;
  readonly registry: FileRegistry;
}

/**
 * Compiles the proto files of this folder.
 *
 * @param asked the files that are no imports. Default: all.
 */
export function compileContract(...asked: readonly string[]): Compiled {
  return compileProtos(join(import.meta.dirname, "proto"), asked);
}

/** Compiles the proto files of a folder, which may import some of google/api. */
export function compileProtos(from: string, asked: readonly string[] = []): Compiled {
  const folder = mkdtempSync(join(tmpdir(), "mooring-proto-"));
  try {
    cpSync(from, folder, { recursive: true });
    cpSync(GOOGLE, join(folder, "google"), { recursive: true });
    const out = join(folder, "out.binpb");
    const paths = asked.flatMap((path) => ["--path", path]);
    const { status, stderr } = spawnSync(
      developmentProgram("buf"),
      ["build", ".", ...paths, "-o", out],
      { cwd: folder, encoding: "utf8" },
    );
    if (status !== 0) throw new Error(stderr);
    const bytes = readFileSync(out);
    const set = fromBinary(FileDescriptorSetSchema, bytes);
    return { bytes, set, registry: createFileRegistry(set) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
