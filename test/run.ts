import { chmodSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { readBuiltIn } from "../src/drivers/built-in.ts";
import { RUN_FOLDER } from "./once.ts";

/** Before all tests. @returns what is done after them. */
export default function startRun(project: TestProject): () => void {
  // A wrong driver file is said once, and not by each test that starts a service.
  readBuiltIn();
  let folder = newFolder();
  project.onTestsRerun(async () => {
    rmSync(folder, { recursive: true, force: true });
    folder = newFolder();
  });
  return () => rmSync(folder, { recursive: true, force: true });
}

/** Programs that are built there find their packages, and users without rights what is theirs. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "mooring-run-"));
  chmodSync(folder, 0o755);
  symlinkSync(join(import.meta.dirname, "../node_modules"), join(folder, "node_modules"));
  process.env[RUN_FOLDER] = folder;
  // Programs of the tests are started often, each with much of the service.
  process.env["NODE_COMPILE_CACHE"] = join(folder, "compiled");
  return folder;
}
