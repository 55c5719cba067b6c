import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import {
  createFileRegistry,
  type DescMethod,
  type DescService,
  type FileRegistry,
  fromBinary,
  getOption,
  hasOption,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { http } from "../../../../gen/google/api/annotations_pb.js";
import type { HttpRule } from "../../../../gen/google/api/http_pb.js";
import { developmentModules, developmentProgram } from "../../../../tools/development.ts";

const protos = join(developmentModules, "google-proto-files");
const build = join(import.meta.dirname, "build");

/**
 * The files of google/protobuf except the well-known types are tests of compilers, some of them
 * invalid.
 */
const MODULES = {
  version: "v2",
  modules: [{ path: ".", excludes: ["google/protobuf", "gapic", "build"] }],
};

/** A published service, and its rpcs that have a `google.api.http` rule. */
export interface PublishedService {
  readonly desc: DescService;
  readonly methods: readonly DescMethod[];
}

/** The descriptors of the package google-proto-files, compiled once for each of its versions. */
export async function readGoogleProtos(): Promise<FileRegistry> {
  const { version } = JSON.parse(await readFile(join(protos, "package.json"), "utf8"));
  const path = join(build, `google-${version}.binpb`);
  if (!existsSync(path)) {
    await mkdir(build, { recursive: true });
    const config = JSON.stringify(MODULES);
    await promisify(execFile)(
      developmentProgram("buf"),
      ["build", ".", "--config", config, "--exclude-source-info", "-o", path],
      // The compiler retains a few hundred megabytes: collecting them takes a third of its time.
      { cwd: protos, env: { ...process.env, GOGC: "500" } },
    );
  }
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(path)));
}

/** All services with rules. */
export function publishedServices(registry: FileRegistry): PublishedService[] {
  const services: PublishedService[] = [];
  for (const desc of registry) {
    if (desc.kind !== "service") continue;
    const methods = desc.methods.filter((method) => hasOption(method, http));
    if (methods.length > 0) services.push({ desc, methods });
  }
  return services;
}

/** The rule of an rpc and its additional bindings. */
export function rulesOf(method: DescMethod): HttpRule[] {
  const rule = getOption(method, http);
  return [rule, ...rule.additionalBindings];
}
