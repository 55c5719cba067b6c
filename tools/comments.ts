// Writes the contract's comments on services, methods, messages, fields and enums, for the REST
// reference: generated code has no comments.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { readComments as readOf } from "../src/gateway/openapi/command.ts";

/** Path of the file with the comments. */
export const FILE = join(import.meta.dirname, "../src/data/contract-comments.json");

/** Comments by full name, such as `mooring.v1.Setting.key`. */
export function readComments(): Readonly<Record<string, string>> {
  const image = ["build", "--as-file-descriptor-set", "--path", "proto/mooring/v1", "-o", "-"];
  const { stdout, stderr, status } = spawnSync("node", ["tools/buf.ts", ...image], {
    maxBuffer: 64 * 2 ** 20,
  });
  if (status !== 0) throw new Error(`buf build: ${stderr}`);
  const { file } = fromBinary(FileDescriptorSetSchema, stdout);
  return readOf(file.filter((one) => one.package.startsWith("mooring.v")));
}

if (import.meta.main) writeFileSync(FILE, `${JSON.stringify(readComments(), null, 2)}\n`);
