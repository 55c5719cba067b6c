import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createFileRegistry, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { type FileDescriptorSet, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";

const ROOT = join(import.meta.dirname, "../../..");
const GOOGLE = join(ROOT, "node_modules/google-proto-files/google/api");
const PROTOS = ["annotations", "http", "httpbody", "field_behavior"];

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
    mkdirSync(join(folder, "google/api"), { recursive: true });
    for (const name of PROTOS)
      cpSync(join(GOOGLE, `${name}.proto`), join(folder, `google/api/${name}.proto`));
    const out = join(folder, "out.binpb");
    const paths = asked.flatMap((path) => ["--path", path]);
    const { status, stderr } = spawnSync(
      join(ROOT, "node_modules/.bin/buf"),
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
