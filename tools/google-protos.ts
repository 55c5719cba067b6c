// Copies the proto files that contracts import from the package google-proto-files into proto/, with
// their licence: the package has 83 MB. `npm run generate` runs it.
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { developmentModules, installDevelopment } from "./development.ts";

/** Rules, raw bodies, required fields, and the details of errors. */
const FILES = [
  "google/api/annotations.proto",
  "google/api/field_behavior.proto",
  "google/api/http.proto",
  "google/api/httpbody.proto",
  "google/rpc/error_details.proto",
  "google/rpc/status.proto",
];

const root = resolve(import.meta.dirname, "..");

/** @param target folder that receives `google/`. */
export function copyGoogleProtos(target: string): void {
  installDevelopment();
  const source = join(developmentModules, "google-proto-files");
  for (const file of FILES) {
    mkdirSync(dirname(join(target, file)), { recursive: true });
    copyFileSync(join(source, file), join(target, file));
  }
  copyFileSync(join(source, "LICENSE"), join(target, "google/LICENSE"));
}

if (import.meta.main) copyGoogleProtos(join(root, "proto"));
